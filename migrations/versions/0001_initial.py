"""initial"""

import sqlalchemy as sa
from alembic import op

import models.base
from models import audit_triggers


revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _due_at() -> str:
    latest = "greatest" if op.get_bind().dialect.name == "postgresql" else "max"
    return f"{latest}(at, coalesce(deferred_until, at), coalesce(next_attempt_at, at))"


def upgrade() -> None:
    op.create_table(
        "audit_purge_mark",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("upto_position", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_purge_mark")),
    )
    op.create_table(
        "audit_seal",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("first_position", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("last_position", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("first_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("last_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("sealed_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_seal")),
        sa.UniqueConstraint("first_position", name=op.f("uq_audit_seal_first_position")),
        sa.UniqueConstraint("last_position", name=op.f("uq_audit_seal_last_position")),
    )
    op.create_table(
        "config_fault",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("fault", sa.Text(), nullable=False),
        sa.Column("seen_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_config_fault")),
    )
    op.create_table(
        "config_version",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("adopted_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_config_version")),
    )
    op.create_table(
        "followup_policy_seen",
        sa.Column("agent", sa.String(length=200), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("agent", name=op.f("pk_followup_policy_seen")),
    )
    op.create_table(
        "position_counter",
        sa.Column("stream", sa.String(length=20), nullable=False),
        sa.Column("last", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("stream", name=op.f("pk_position_counter")),
    )
    op.create_table(
        "tenant",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=63), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("timezone", sa.String(length=64), nullable=False),
        sa.Column("features", models.base.StoredJson(), nullable=False),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tenant")),
        sa.UniqueConstraint("key", name=op.f("uq_tenant_key")),
    )
    op.create_table(
        "agent_hold",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("agent", sa.String(length=200), nullable=False),
        sa.Column("held", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.String(length=200), nullable=True),
        sa.Column("by", sa.String(length=200), nullable=False),
        sa.Column("at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_agent_hold_tenant_id")),
        sa.PrimaryKeyConstraint("tenant_id", "agent", name=op.f("pk_agent_hold")),
    )
    op.create_table(
        "agent_task",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("followup_id", sa.Uuid(), nullable=True),
        sa.Column("agent", sa.String(length=200), nullable=False),
        sa.Column("customer", sa.String(length=200), nullable=False),
        sa.Column("session_id", sa.String(length=200), nullable=True),
        sa.Column("command", models.base.StoredJson(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("updated_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_agent_task_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent_task")),
    )
    op.create_index(
        "ix_agent_task_agent", "agent_task", ["tenant_id", "agent", "created_at", "id"], unique=False
    )
    op.create_index("ix_agent_task_created", "agent_task", ["tenant_id", "created_at", "id"], unique=False)
    op.create_index("ix_agent_task_customer", "agent_task", ["tenant_id", "customer", "status"], unique=False)
    op.create_index(
        "ix_agent_task_status", "agent_task", ["tenant_id", "status", "created_at", "id"], unique=False
    )
    op.create_table(
        "audit_event",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("actor_type", sa.String(length=20), nullable=False),
        sa.Column("actor_id", sa.String(length=200), nullable=False),
        sa.Column("actor_label", sa.String(length=200), nullable=False),
        sa.Column("action", sa.String(length=80), nullable=False),
        sa.Column("resource_type", sa.String(length=40), nullable=False),
        sa.Column("resource_id", sa.String(length=200), nullable=False),
        sa.Column("purpose", sa.String(length=200), nullable=True),
        sa.Column("result", sa.String(length=20), nullable=False),
        sa.Column("detail", models.base.StoredJson(), nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=True),
        sa.Column("position", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_audit_event_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_event")),
    )
    op.create_index(
        "ix_audit_event_resource",
        "audit_event",
        ["tenant_id", "resource_type", "resource_id", "at", "id"],
        unique=False,
    )
    op.create_index(
        "ix_audit_event_tenant_action", "audit_event", ["tenant_id", "action", "at", "id"], unique=False
    )
    op.create_index(
        "ix_audit_event_tenant_actor", "audit_event", ["tenant_id", "actor_id", "at", "id"], unique=False
    )
    op.create_index("ix_audit_event_tenant_at", "audit_event", ["tenant_id", "at", "id"], unique=False)
    op.create_index(
        "ix_audit_event_unplaced",
        "audit_event",
        ["id"],
        unique=False,
        postgresql_where=sa.text("position IS NULL"),
        sqlite_where=sa.text("position IS NULL"),
    )
    op.create_index("uq_audit_event_position", "audit_event", ["position"], unique=True)
    op.create_table(
        "contact",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("customer", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("sends_without_reply", sa.Integer(), nullable=False),
        sa.Column("last_outbound_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("revoked_by", sa.String(length=200), nullable=True),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("updated_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_contact_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_contact")),
    )
    op.create_index("uq_contact_customer", "contact", ["tenant_id", "customer"], unique=True)
    op.create_table(
        "conversation",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("external_id", sa.String(length=200), nullable=False),
        sa.Column("customer", sa.String(length=200), nullable=True),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("updated_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_conversation_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conversation")),
    )
    op.create_index("ix_conversation_customer", "conversation", ["tenant_id", "customer"], unique=False)
    op.create_index("uq_conversation_external", "conversation", ["tenant_id", "external_id"], unique=True)
    op.create_table(
        "erased_opt_out",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("revoked_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_erased_opt_out_tenant_id")),
        sa.PrimaryKeyConstraint("tenant_id", "digest", name=op.f("pk_erased_opt_out")),
    )
    op.create_table(
        "follow_up",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("agent", sa.String(length=200), nullable=False),
        sa.Column("customer", sa.String(length=200), nullable=False),
        sa.Column("session_id", sa.String(length=200), nullable=True),
        sa.Column("at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("reason", sa.String(length=200), nullable=False),
        sa.Column("arm", sa.String(length=200), nullable=False),
        sa.Column("transport", sa.String(length=200), nullable=True),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("task_id", sa.Uuid(), nullable=True),
        sa.Column("blocked_reason", sa.String(length=40), nullable=True),
        sa.Column("cancelled_by", sa.String(length=200), nullable=True),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("updated_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("fired_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("rearmed_from", sa.Uuid(), nullable=True),
        sa.Column("deferred_until", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column(
            "due_at",
            models.base.UtcDateTime(timezone=True),
            sa.Computed(_due_at(), persisted=True),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_follow_up_tenant_id")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_follow_up")),
    )
    op.create_index(
        "ix_follow_up_agent", "follow_up", ["tenant_id", "agent", "created_at", "id"], unique=False
    )
    op.create_index("ix_follow_up_arm", "follow_up", ["tenant_id", "arm", "created_at", "id"], unique=False)
    op.create_index("ix_follow_up_created", "follow_up", ["tenant_id", "created_at", "id"], unique=False)
    op.create_index(
        "ix_follow_up_customer", "follow_up", ["tenant_id", "customer", "status", "at", "id"], unique=False
    )
    op.create_index(
        "ix_follow_up_due",
        "follow_up",
        ["tenant_id", "agent", "due_at", "at", "id"],
        unique=False,
        postgresql_where=sa.text("status = 'pending'"),
        sqlite_where=sa.text("status = 'pending'"),
    )
    op.create_index(
        "ix_follow_up_fires",
        "follow_up",
        ["tenant_id", "customer", "fired_at"],
        unique=False,
        postgresql_where=sa.text("status = 'fired'"),
        sqlite_where=sa.text("status = 'fired'"),
    )
    op.create_index(
        "ix_follow_up_reason", "follow_up", ["tenant_id", "reason", "created_at", "id"], unique=False
    )
    op.create_index("ix_follow_up_status_at", "follow_up", ["tenant_id", "status", "at", "id"], unique=False)
    op.create_index(
        "ix_follow_up_status_updated", "follow_up", ["tenant_id", "status", "updated_at", "id"], unique=False
    )
    op.create_table(
        "outbox_event",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("aggregate_type", sa.String(length=40), nullable=False),
        sa.Column("aggregate_id", sa.String(length=200), nullable=False),
        sa.Column("event_type", sa.String(length=80), nullable=False),
        sa.Column("deduplication_key", sa.String(length=200), nullable=True),
        sa.Column("payload", models.base.StoredJson(), nullable=False),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("position", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_outbox_event_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox_event")),
    )
    op.create_index(
        "ix_outbox_event_aggregate",
        "outbox_event",
        ["tenant_id", "aggregate_type", "aggregate_id", "id"],
        unique=False,
    )
    op.create_index("ix_outbox_event_created_at", "outbox_event", ["created_at"], unique=False)
    op.create_index(
        "ix_outbox_event_tenant_position", "outbox_event", ["tenant_id", "position"], unique=False
    )
    op.create_index(
        "ix_outbox_event_tenant_type_position",
        "outbox_event",
        ["tenant_id", "event_type", "position"],
        unique=False,
    )
    op.create_index(
        "ix_outbox_event_unpublished",
        "outbox_event",
        ["id"],
        unique=False,
        postgresql_where=sa.text("position IS NULL"),
        sqlite_where=sa.text("position IS NULL"),
    )
    op.create_index(
        "uq_outbox_event_deduplication",
        "outbox_event",
        ["tenant_id", "event_type", "aggregate_type", "aggregate_id", "deduplication_key"],
        unique=True,
        postgresql_where=sa.text("deduplication_key IS NOT NULL"),
        sqlite_where=sa.text("deduplication_key IS NOT NULL"),
    )
    op.create_index("uq_outbox_event_position", "outbox_event", ["position"], unique=True)
    op.create_table(
        "outcome",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(length=200), nullable=False),
        sa.Column("agent", sa.String(length=200), nullable=False),
        sa.Column("customer", sa.String(length=200), nullable=False),
        sa.Column("session_id", sa.String(length=200), nullable=True),
        sa.Column("kind", sa.String(length=200), nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("occurred_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_outcome_tenant_id")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_outcome")),
    )
    op.create_index(
        "ix_outcome_agent", "outcome", ["tenant_id", "agent", "kind", "occurred_at"], unique=False
    )
    op.create_index("ix_outcome_customer", "outcome", ["tenant_id", "customer"], unique=False)
    op.create_table(
        "revoke_event",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("customer", sa.String(length=200), nullable=False),
        sa.Column("at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("source", sa.String(length=200), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_revoke_event_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_revoke_event")),
    )
    op.create_index("ix_revoke_event_customer", "revoke_event", ["tenant_id", "customer", "id"], unique=False)
    op.create_table(
        "task_event",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Uuid(), nullable=False),
        sa.Column("from_status", sa.String(length=20), nullable=True),
        sa.Column("to_status", sa.String(length=20), nullable=False),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("reason", sa.String(length=200), nullable=True),
        sa.Column("at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_task_event_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_task_event")),
    )
    op.create_index("ix_task_event_task", "task_event", ["tenant_id", "task_id", "id"], unique=False)
    op.create_table(
        "message",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("conversation_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("external_id", sa.String(length=200), nullable=False),
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("direction", sa.String(length=20), nullable=False),
        sa.Column("sender", models.base.StoredJson(), nullable=False),
        sa.Column("private", sa.Boolean(), nullable=False),
        sa.Column("auto_reply", sa.Boolean(), nullable=False),
        sa.Column("customer", sa.String(length=200), nullable=True),
        sa.Column("agent", sa.String(length=200), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("stored_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversation.id"], name=op.f("fk_message_conversation_id")
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_message_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_message")),
    )
    op.create_index(
        "ix_message_conversation", "message", ["conversation_id", "created_at", "id"], unique=False
    )
    op.create_index("ix_message_customer", "message", ["tenant_id", "customer"], unique=False)
    op.create_index("uq_message_external", "message", ["tenant_id", "external_id"], unique=True)

    op.execute("INSERT INTO position_counter (stream, last) VALUES ('audit_event', 0), ('outbox_event', 0)")
    op.execute("INSERT INTO audit_purge_mark (id, upto_position) VALUES (1, 0)")
    op.execute(
        "INSERT INTO tenant (key, name, timezone, features, created_at) VALUES ('platform', 'Platform', 'UTC', "
        '\'{"followups": true, "delayed_automations": true}\', CURRENT_TIMESTAMP)'
        if op.get_bind().dialect.name == "postgresql"
        else "INSERT INTO tenant (key, name, timezone, features, created_at) VALUES ('platform', 'Platform', 'UTC', "
        "'{\"followups\": true, \"delayed_automations\": true}', strftime('%Y-%m-%d %H:%M:%f000', 'now'))"
    )
    for statement in audit_triggers.create(op.get_bind().dialect.name):
        op.execute(statement)


def downgrade() -> None:
    op.drop_index("uq_message_external", table_name="message")
    op.drop_index("ix_message_customer", table_name="message")
    op.drop_index("ix_message_conversation", table_name="message")
    op.drop_table("message")
    op.drop_index("ix_task_event_task", table_name="task_event")
    op.drop_table("task_event")
    op.drop_index("ix_revoke_event_customer", table_name="revoke_event")
    op.drop_table("revoke_event")
    op.drop_index("ix_outcome_customer", table_name="outcome")
    op.drop_index("ix_outcome_agent", table_name="outcome")
    op.drop_table("outcome")
    op.drop_index("uq_outbox_event_position", table_name="outbox_event")
    op.drop_index(
        "uq_outbox_event_deduplication",
        table_name="outbox_event",
        postgresql_where=sa.text("deduplication_key IS NOT NULL"),
        sqlite_where=sa.text("deduplication_key IS NOT NULL"),
    )
    op.drop_index(
        "ix_outbox_event_unpublished",
        table_name="outbox_event",
        postgresql_where=sa.text("position IS NULL"),
        sqlite_where=sa.text("position IS NULL"),
    )
    op.drop_index("ix_outbox_event_tenant_type_position", table_name="outbox_event")
    op.drop_index("ix_outbox_event_tenant_position", table_name="outbox_event")
    op.drop_index("ix_outbox_event_created_at", table_name="outbox_event")
    op.drop_index("ix_outbox_event_aggregate", table_name="outbox_event")
    op.drop_table("outbox_event")
    op.drop_index("ix_follow_up_status_updated", table_name="follow_up")
    op.drop_index("ix_follow_up_status_at", table_name="follow_up")
    op.drop_index("ix_follow_up_reason", table_name="follow_up")
    op.drop_index(
        "ix_follow_up_fires",
        table_name="follow_up",
        postgresql_where=sa.text("status = 'fired'"),
        sqlite_where=sa.text("status = 'fired'"),
    )
    op.drop_index(
        "ix_follow_up_due",
        table_name="follow_up",
        postgresql_where=sa.text("status = 'pending'"),
        sqlite_where=sa.text("status = 'pending'"),
    )
    op.drop_index("ix_follow_up_customer", table_name="follow_up")
    op.drop_index("ix_follow_up_created", table_name="follow_up")
    op.drop_index("ix_follow_up_arm", table_name="follow_up")
    op.drop_index("ix_follow_up_agent", table_name="follow_up")
    op.drop_table("follow_up")
    op.drop_table("erased_opt_out")
    op.drop_index("uq_conversation_external", table_name="conversation")
    op.drop_index("ix_conversation_customer", table_name="conversation")
    op.drop_table("conversation")
    op.drop_index("uq_contact_customer", table_name="contact")
    op.drop_table("contact")
    op.drop_index("uq_audit_event_position", table_name="audit_event")
    op.drop_index(
        "ix_audit_event_unplaced",
        table_name="audit_event",
        postgresql_where=sa.text("position IS NULL"),
        sqlite_where=sa.text("position IS NULL"),
    )
    op.drop_index("ix_audit_event_tenant_at", table_name="audit_event")
    op.drop_index("ix_audit_event_tenant_actor", table_name="audit_event")
    op.drop_index("ix_audit_event_tenant_action", table_name="audit_event")
    op.drop_index("ix_audit_event_resource", table_name="audit_event")
    op.drop_table("audit_event")
    op.drop_index("ix_agent_task_status", table_name="agent_task")
    op.drop_index("ix_agent_task_customer", table_name="agent_task")
    op.drop_index("ix_agent_task_created", table_name="agent_task")
    op.drop_index("ix_agent_task_agent", table_name="agent_task")
    op.drop_table("agent_task")
    op.drop_table("agent_hold")
    op.drop_table("tenant")
    op.drop_table("position_counter")
    op.drop_table("followup_policy_seen")
    op.drop_table("config_version")
    op.drop_table("config_fault")
    op.drop_table("audit_seal")
    op.drop_table("audit_purge_mark")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION IF EXISTS audit_event_guard")
        op.execute("DROP FUNCTION IF EXISTS append_only")
