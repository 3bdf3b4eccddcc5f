"""Rules with what they armed and did, connectors, and what these were told."""

import sqlalchemy as sa
from alembic import op

import models.base


revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def _next_at() -> str:
    later_of = "greatest" if op.get_bind().dialect.name == "postgresql" else "max"
    return f"{later_of}(due_at, coalesce(not_before, due_at), coalesce(next_attempt_at, due_at))"


def upgrade() -> None:
    op.create_table(
        "automation_rule",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("event", sa.String(length=40), nullable=False),
        sa.Column("conditions", models.base.StoredJson(), nullable=False),
        sa.Column("actions", models.base.StoredJson(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("execution_delay", sa.Integer(), nullable=True),
        sa.Column("window_start", sa.Integer(), nullable=True),
        sa.Column("window_end", sa.Integer(), nullable=True),
        sa.Column("trigger", sa.String(length=20), nullable=True),
        sa.Column("on_failure", sa.String(length=20), nullable=False),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("updated_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("armed_version", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_automation_rule_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_automation_rule")),
    )
    op.create_index(
        "ix_automation_rule_created", "automation_rule", ["tenant_id", "created_at", "id"], unique=False
    )
    op.create_index(
        "ix_automation_rule_event", "automation_rule", ["tenant_id", "event", "active"], unique=False
    )
    op.create_table(
        "connector",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("url", sa.String(length=2000), nullable=False),
        sa.Column("account", sa.String(length=20), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("updated_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_connector_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_connector")),
    )
    op.create_index("uq_connector_kind", "connector", ["tenant_id", "kind"], unique=True)
    op.create_table(
        "execution",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("rule_id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("message_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("message_seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("message_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("episode_key", sa.String(length=250), nullable=False),
        sa.Column("at_once", sa.Boolean(), nullable=False),
        sa.Column("armed_version", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("skip_reason", sa.String(length=40), nullable=True),
        sa.Column("due_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("not_before", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("lapses_from", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("lock_token", sa.Uuid(), nullable=True),
        sa.Column("locked_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("resumed", sa.Boolean(), nullable=False),
        sa.Column("began_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("on_failure", sa.String(length=20), nullable=False),
        sa.Column("activity_seen_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("needs_review", sa.Boolean(), nullable=False),
        sa.Column("settled_by", sa.String(length=200), nullable=True),
        sa.Column("settled_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("note", sa.String(length=500), nullable=True),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("updated_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column(
            "next_at",
            models.base.UtcDateTime(timezone=True),
            sa.Computed(_next_at(), persisted=True),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_execution_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_execution")),
    )
    op.create_index(
        "ix_execution_at_once",
        "execution",
        ["next_at", "id"],
        unique=False,
        postgresql_where=sa.text("status = 'pending' AND at_once IS true"),
        sqlite_where=sa.text("status = 'pending' AND at_once IS 1"),
    )
    op.create_index(
        "ix_execution_conversation", "execution", ["conversation_id", "created_at", "id"], unique=False
    )
    op.create_index("ix_execution_created", "execution", ["tenant_id", "created_at", "id"], unique=False)
    op.create_index(
        "ix_execution_due",
        "execution",
        ["tenant_id", "next_at", "id"],
        unique=False,
        postgresql_where=sa.text("status = 'pending' AND at_once IS false"),
        sqlite_where=sa.text("status = 'pending' AND at_once IS 0"),
    )
    op.create_index(
        "ix_execution_locked",
        "execution",
        ["status", "locked_at", "id"],
        unique=False,
        postgresql_where=sa.text("status = 'processing' OR status = 'executing'"),
        sqlite_where=sa.text("status = 'processing' OR status = 'executing'"),
    )
    op.create_index(
        "ix_execution_over", "execution", ["tenant_id", "status", "updated_at", "id"], unique=False
    )
    op.create_index(
        "ix_execution_pending", "execution", ["tenant_id", "status", "due_at", "id"], unique=False
    )
    op.create_index(
        "ix_execution_review",
        "execution",
        ["tenant_id", "updated_at", "id"],
        unique=False,
        postgresql_where=sa.text("needs_review IS true"),
        sqlite_where=sa.text("needs_review IS 1"),
    )
    op.create_index(
        "ix_execution_rule", "execution", ["tenant_id", "rule_id", "status", "updated_at", "id"], unique=False
    )
    op.create_index(
        "ix_execution_skip", "execution", ["tenant_id", "skip_reason", "updated_at", "id"], unique=False
    )
    op.create_index("ix_execution_status_updated", "execution", ["status", "updated_at", "id"], unique=False)
    op.create_index(
        "uq_execution_episode", "execution", ["rule_id", "conversation_id", "episode_key"], unique=True
    )
    op.create_table(
        "inbound_event",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("source", sa.String(length=40), nullable=False),
        sa.Column("delivery_id", sa.String(length=200), nullable=False),
        sa.Column("event", sa.String(length=60), nullable=False),
        sa.Column("conversation", sa.String(length=200), nullable=True),
        sa.Column("customer", sa.String(length=200), nullable=True),
        sa.Column("raw", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("happenings", models.base.StoredJson(), nullable=False),
        sa.Column("told_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("told_status", sa.String(length=20), nullable=True),
        sa.Column("told_change", sa.Boolean(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("error", sa.String(length=500), nullable=True),
        sa.Column("received_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("updated_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_inbound_event_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_inbound_event")),
    )
    op.create_index(
        "ix_inbound_event_conversation",
        "inbound_event",
        ["tenant_id", "source", "conversation", "told_at"],
        unique=False,
    )
    op.create_index("ix_inbound_event_customer", "inbound_event", ["tenant_id", "customer"], unique=False)
    op.create_index(
        "ix_inbound_event_due",
        "inbound_event",
        ["next_attempt_at", "id"],
        unique=False,
        postgresql_where=sa.text("next_attempt_at IS NOT NULL"),
        sqlite_where=sa.text("next_attempt_at IS NOT NULL"),
    )
    op.create_index(
        "ix_inbound_event_over",
        "inbound_event",
        ["updated_at", "id"],
        unique=False,
        postgresql_where=sa.text("next_attempt_at IS NULL"),
        sqlite_where=sa.text("next_attempt_at IS NULL"),
    )
    op.create_index(
        "uq_inbound_event_delivery", "inbound_event", ["tenant_id", "source", "delivery_id"], unique=True
    )
    op.create_table(
        "action_run",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("execution_id", sa.Uuid(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("params", models.base.StoredJson(), nullable=False),
        sa.Column("native", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("idempotency_key", sa.String(length=80), nullable=False),
        sa.Column("receipt", sa.String(length=500), nullable=True),
        sa.Column("error", sa.String(length=500), nullable=True),
        sa.Column("started_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("finished_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["execution_id"], ["execution.id"], name=op.f("fk_action_run_execution_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_action_run_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_action_run")),
    )
    op.create_index("uq_action_run_key", "action_run", ["idempotency_key"], unique=True)
    op.create_index("uq_action_run_position", "action_run", ["execution_id", "run", "position"], unique=True)
    op.create_table(
        "action_event",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("action_run_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("from_state", sa.String(length=10), nullable=False),
        sa.Column("to_state", sa.String(length=10), nullable=False),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("detail", sa.String(length=500), nullable=True),
        sa.Column("at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["action_run_id"],
            ["action_run.id"],
            name=op.f("fk_action_event_action_run_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_action_event_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_action_event")),
    )
    op.create_index("ix_action_event_action_run", "action_event", ["action_run_id", "id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_action_event_action_run", table_name="action_event")
    op.drop_table("action_event")
    op.drop_index("uq_action_run_position", table_name="action_run")
    op.drop_index("uq_action_run_key", table_name="action_run")
    op.drop_table("action_run")
    op.drop_index("uq_inbound_event_delivery", table_name="inbound_event")
    op.drop_index(
        "ix_inbound_event_over",
        table_name="inbound_event",
        postgresql_where=sa.text("next_attempt_at IS NULL"),
        sqlite_where=sa.text("next_attempt_at IS NULL"),
    )
    op.drop_index(
        "ix_inbound_event_due",
        table_name="inbound_event",
        postgresql_where=sa.text("next_attempt_at IS NOT NULL"),
        sqlite_where=sa.text("next_attempt_at IS NOT NULL"),
    )
    op.drop_index("ix_inbound_event_customer", table_name="inbound_event")
    op.drop_index("ix_inbound_event_conversation", table_name="inbound_event")
    op.drop_table("inbound_event")
    op.drop_index("uq_execution_episode", table_name="execution")
    op.drop_index("ix_execution_status_updated", table_name="execution")
    op.drop_index("ix_execution_skip", table_name="execution")
    op.drop_index("ix_execution_rule", table_name="execution")
    op.drop_index(
        "ix_execution_review",
        table_name="execution",
        postgresql_where=sa.text("needs_review IS true"),
        sqlite_where=sa.text("needs_review IS 1"),
    )
    op.drop_index("ix_execution_pending", table_name="execution")
    op.drop_index("ix_execution_over", table_name="execution")
    op.drop_index(
        "ix_execution_locked",
        table_name="execution",
        postgresql_where=sa.text("status = 'processing' OR status = 'executing'"),
        sqlite_where=sa.text("status = 'processing' OR status = 'executing'"),
    )
    op.drop_index(
        "ix_execution_due",
        table_name="execution",
        postgresql_where=sa.text("status = 'pending' AND at_once IS false"),
        sqlite_where=sa.text("status = 'pending' AND at_once IS 0"),
    )
    op.drop_index("ix_execution_created", table_name="execution")
    op.drop_index("ix_execution_conversation", table_name="execution")
    op.drop_index(
        "ix_execution_at_once",
        table_name="execution",
        postgresql_where=sa.text("status = 'pending' AND at_once IS true"),
        sqlite_where=sa.text("status = 'pending' AND at_once IS 1"),
    )
    op.drop_table("execution")
    op.drop_index("uq_connector_kind", table_name="connector")
    op.drop_table("connector")
    op.drop_index("ix_automation_rule_event", table_name="automation_rule")
    op.drop_index("ix_automation_rule_created", table_name="automation_rule")
    op.drop_table("automation_rule")
