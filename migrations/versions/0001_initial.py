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
        "operator",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("email", sa.String(length=200), nullable=False),
        sa.Column("password", sa.String(length=255), nullable=True),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("fs_uniquifier", sa.String(length=64), nullable=False),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("signed_in_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("timezone", sa.String(length=64), nullable=True),
        sa.Column("refresh_seconds", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operator")),
        sa.UniqueConstraint("email", name=op.f("uq_operator_email")),
        sa.UniqueConstraint("fs_uniquifier", name=op.f("uq_operator_fs_uniquifier")),
    )
    op.create_table(
        "position_counter",
        sa.Column("stream", sa.String(length=20), nullable=False),
        sa.Column("last", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("stream", name=op.f("pk_position_counter")),
    )
    op.create_table(
        "purge_mark_kept",
        sa.Column("stream", sa.String(length=20), nullable=False),
        sa.PrimaryKeyConstraint("stream", name=op.f("pk_purge_mark_kept")),
    )
    op.create_table(
        "sent_form",
        sa.Column("token", sa.Uuid(), nullable=False),
        sa.Column("at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("token", name=op.f("pk_sent_form")),
    )
    op.create_index("ix_sent_form_at", "sent_form", ["at"], unique=False)
    op.create_table(
        "sweep_lease",
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("holder", sa.String(length=100), nullable=False),
        sa.Column("run_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("expires_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_sweep_lease")),
    )
    op.create_table(
        "sweep_pause",
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.String(length=200), nullable=True),
        sa.Column("by", sa.String(length=200), nullable=False),
        sa.Column("at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_sweep_pause")),
    )
    op.create_table(
        "sweep_run",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("slot_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("by_hand", sa.Boolean(), nullable=False),
        sa.Column("holder", sa.String(length=100), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("started_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("finished_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("counts", models.base.StoredJson(), nullable=False),
        sa.Column("capped", sa.Boolean(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sweep_run")),
    )
    op.create_index("ix_sweep_run_name_started_at", "sweep_run", ["name", "started_at", "id"], unique=False)
    op.create_index(
        "ix_sweep_run_name_status_finished_at",
        "sweep_run",
        ["name", "status", "by_hand", "finished_at"],
        unique=False,
    )
    op.create_index(
        "ix_sweep_run_name_status_started_at",
        "sweep_run",
        ["name", "status", "started_at", "id"],
        unique=False,
    )
    op.create_index(
        "ix_sweep_run_running",
        "sweep_run",
        ["id"],
        unique=False,
        postgresql_where=sa.text("status = 'running'"),
        sqlite_where=sa.text("status = 'running'"),
    )
    op.create_index("ix_sweep_run_started_at", "sweep_run", ["started_at"], unique=False)
    op.create_table(
        "sweep_slot",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("slot_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("reason", sa.String(length=200), nullable=True),
        sa.Column("missed", sa.Integer(), nullable=False),
        sa.Column("missed_from", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("claimed_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("enqueued_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("enqueues", sa.Integer(), nullable=False),
        sa.Column("started_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sweep_slot")),
    )
    op.create_index("ix_sweep_slot_slot_at", "sweep_slot", ["slot_at"], unique=False)
    op.create_index(
        "ix_sweep_slot_waiting",
        "sweep_slot",
        ["name", "slot_at"],
        unique=False,
        postgresql_where=sa.text("state = 'waiting'"),
        sqlite_where=sa.text("state = 'waiting'"),
    )
    op.create_index("uq_sweep_slot_name_slot_at", "sweep_slot", ["name", "slot_at"], unique=True)
    op.create_table(
        "tenant",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=63), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("timezone", sa.String(length=64), nullable=False),
        sa.Column("features", models.base.StoredJson(), nullable=False),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
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
        sa.Column("version", sa.Integer(), nullable=False),
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
    op.create_index(
        "ix_agent_task_waiting",
        "agent_task",
        ["tenant_id", "updated_at", "id"],
        unique=False,
        postgresql_where=sa.text("status IN ('dispatched', 'queued')"),
        sqlite_where=sa.text("status IN ('dispatched', 'queued')"),
    )
    op.create_table(
        "api_token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("scopes", models.base.StoredJson(), nullable=False),
        sa.Column("assistant", sa.String(length=200), nullable=True),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_api_token_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_token")),
        sa.UniqueConstraint("digest", name=op.f("uq_api_token_digest")),
    )
    op.create_index("ix_api_token_tenant_id", "api_token", ["tenant_id", "id"], unique=False)
    op.create_index(
        "uq_api_token_name",
        "api_token",
        ["tenant_id", "name"],
        unique=True,
        postgresql_where=sa.text("revoked_at IS NULL"),
        sqlite_where=sa.text("revoked_at IS NULL"),
    )
    op.create_table(
        "attention_episode",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(length=40), nullable=False),
        sa.Column("began_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_attention_episode_tenant_id")),
        sa.PrimaryKeyConstraint("tenant_id", "reason", name=op.f("pk_attention_episode")),
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
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_audit_event_not_done",
        "audit_event",
        ["tenant_id", "at", "id"],
        unique=False,
        postgresql_where=sa.text("result != 'success'"),
        sqlite_where=sa.text("result != 'success'"),
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
        "ix_audit_event_type", "audit_event", ["tenant_id", "resource_type", "at", "id"], unique=False
    )
    op.create_index(
        "ix_audit_event_unplaced",
        "audit_event",
        ["id"],
        unique=False,
        postgresql_where=sa.text("position IS NULL"),
        sqlite_where=sa.text("position IS NULL"),
    )
    op.create_index(
        "uq_audit_event_position",
        "audit_event",
        ["position"],
        unique=True,
        postgresql_where=sa.text("position IS NOT NULL"),
        sqlite_where=sa.text("position IS NOT NULL"),
    )
    op.create_table(
        "bulk_operation",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("verb", sa.String(length=40), nullable=False),
        sa.Column("filters", models.base.StoredJson(), nullable=False),
        sa.Column("options", models.base.StoredJson(), nullable=False),
        sa.Column("reason", sa.String(length=200), nullable=False),
        sa.Column("watermark", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("requested", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("not_done", sa.Integer(), nullable=False),
        sa.Column("left_out", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("actor_type", sa.String(length=20), nullable=False),
        sa.Column("actor_id", sa.String(length=200), nullable=False),
        sa.Column("actor_label", sa.String(length=200), nullable=False),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("updated_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("seen_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("finished_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("stopped_by", sa.String(length=200), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_bulk_operation_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bulk_operation")),
    )
    op.create_index(
        "ix_bulk_operation_created", "bulk_operation", ["tenant_id", "created_at", "id"], unique=False
    )
    op.create_index("ix_bulk_operation_finished", "bulk_operation", ["finished_at"], unique=False)
    op.create_index(
        "ix_bulk_operation_running",
        "bulk_operation",
        ["id"],
        unique=False,
        postgresql_where=sa.text("state = 'running'"),
        sqlite_where=sa.text("state = 'running'"),
    )
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
    op.create_index("ix_contact_state", "contact", ["tenant_id", "state"], unique=False)
    op.create_index("uq_contact_customer", "contact", ["tenant_id", "customer"], unique=True)
    op.create_table(
        "conversation",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("source", sa.String(length=40), server_default="native", nullable=False),
        sa.Column("external_id", sa.String(length=200), nullable=False),
        sa.Column("customer", sa.String(length=200), nullable=True),
        sa.Column("inbox_id", models.base.Scalar(length=250), nullable=True),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("status_changed_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("waiting_since", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("priority", models.base.Scalar(length=250), nullable=True),
        sa.Column("assignee_id", models.base.Scalar(length=250), nullable=True),
        sa.Column("team_id", models.base.Scalar(length=250), nullable=True),
        sa.Column("labels", models.base.StoredJson(), nullable=False),
        sa.Column("language", sa.String(length=200), nullable=True),
        sa.Column("attributes", models.base.StoredJson(), nullable=False),
        sa.Column("auto_reply", sa.Boolean(), nullable=False),
        sa.Column("last_activity_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("replied_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column(
            "replied_seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("resolved_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("source_updated_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("updated_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_conversation_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conversation")),
    )
    op.create_index("ix_conversation_customer", "conversation", ["tenant_id", "customer"], unique=False)
    op.create_index("ix_conversation_updated", "conversation", ["tenant_id", "updated_at"], unique=False)
    op.create_index(
        "uq_conversation_external", "conversation", ["tenant_id", "external_id", "source"], unique=True
    )
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
        sa.Column("promised_at", models.base.UtcDateTime(timezone=True), nullable=True),
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
    op.create_index(
        "ix_follow_up_agent_arm", "follow_up", ["tenant_id", "agent", "arm", "status"], unique=False
    )
    op.create_index("ix_follow_up_arm", "follow_up", ["tenant_id", "arm", "created_at", "id"], unique=False)
    op.create_index(
        "ix_follow_up_blocked",
        "follow_up",
        ["tenant_id", "blocked_reason", "updated_at", "id"],
        unique=False,
        postgresql_where=sa.text("status = 'blocked'"),
        sqlite_where=sa.text("status = 'blocked'"),
    )
    op.create_index("ix_follow_up_created", "follow_up", ["tenant_id", "created_at", "id"], unique=False)
    op.create_index(
        "ix_follow_up_customer", "follow_up", ["tenant_id", "customer", "status", "fired_at"], unique=False
    )
    op.create_index(
        "ix_follow_up_deferred",
        "follow_up",
        ["agent"],
        unique=False,
        postgresql_where=sa.text("status = 'pending' AND deferred_until IS NOT NULL"),
        sqlite_where=sa.text("status = 'pending' AND deferred_until IS NOT NULL"),
    )
    op.create_index(
        "ix_follow_up_due",
        "follow_up",
        ["tenant_id", "agent", "due_at", "at", "id"],
        unique=False,
        postgresql_include=["customer"],
        postgresql_where=sa.text("status = 'pending'"),
        sqlite_where=sa.text("status = 'pending'"),
    )
    op.create_index(
        "ix_follow_up_failing",
        "follow_up",
        ["tenant_id", "agent", "at"],
        unique=False,
        postgresql_where=sa.text("status = 'pending' AND attempts > 0"),
        sqlite_where=sa.text("status = 'pending' AND attempts > 0"),
    )
    op.create_index(
        "ix_follow_up_over_agent",
        "follow_up",
        ["tenant_id", "agent", "status", "updated_at", "id"],
        unique=False,
        postgresql_where=sa.text("status != 'pending'"),
    )
    op.create_index(
        "ix_follow_up_over_arm",
        "follow_up",
        ["tenant_id", "arm", "status", "updated_at", "id"],
        unique=False,
        postgresql_where=sa.text("status != 'pending'"),
    )
    op.create_index(
        "ix_follow_up_over_reason",
        "follow_up",
        ["tenant_id", "reason", "status", "updated_at", "id"],
        unique=False,
        postgresql_where=sa.text("status != 'pending'"),
    )
    op.create_index(
        "ix_follow_up_pending",
        "follow_up",
        ["tenant_id", "due_at", "id"],
        unique=False,
        postgresql_where=sa.text("status = 'pending'"),
        sqlite_where=sa.text("status = 'pending'"),
    )
    op.create_index(
        "ix_follow_up_pending_arm",
        "follow_up",
        ["tenant_id", "arm", "due_at", "id"],
        unique=False,
        postgresql_where=sa.text("status = 'pending'"),
        sqlite_where=sa.text("status = 'pending'"),
    )
    op.create_index(
        "ix_follow_up_pending_at",
        "follow_up",
        ["tenant_id", "at", "id"],
        unique=False,
        postgresql_where=sa.text("status = 'pending'"),
        sqlite_where=sa.text("status = 'pending'"),
    )
    op.create_index(
        "ix_follow_up_pending_reason",
        "follow_up",
        ["tenant_id", "reason", "due_at", "id"],
        unique=False,
        postgresql_where=sa.text("status = 'pending'"),
        sqlite_where=sa.text("status = 'pending'"),
    )
    op.create_index(
        "ix_follow_up_rearmed_from",
        "follow_up",
        ["tenant_id", "rearmed_from"],
        unique=False,
        postgresql_where=sa.text("rearmed_from IS NOT NULL"),
        sqlite_where=sa.text("rearmed_from IS NOT NULL"),
    )
    op.create_index(
        "ix_follow_up_reason", "follow_up", ["tenant_id", "reason", "created_at", "id"], unique=False
    )
    op.create_index(
        "ix_follow_up_status_created", "follow_up", ["tenant_id", "status", "created_at", "id"], unique=False
    )
    op.create_index(
        "ix_follow_up_status_updated",
        "follow_up",
        ["tenant_id", "status", "updated_at", "id"],
        unique=False,
        postgresql_where=sa.text("status != 'pending'"),
    )
    op.create_table(
        "handling",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("resource_type", sa.String(length=40), nullable=False),
        sa.Column("resource_id", sa.String(length=200), nullable=False),
        sa.Column("operator_id", sa.String(length=200), nullable=False),
        sa.Column("operator", sa.String(length=200), nullable=False),
        sa.Column("at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_handling_tenant_id")),
        sa.PrimaryKeyConstraint("tenant_id", "resource_type", "resource_id", name=op.f("pk_handling")),
    )
    op.create_index("ix_handling_at", "handling", ["at"], unique=False)
    op.create_index("ix_handling_tenant", "handling", ["tenant_id", "at"], unique=False)
    op.create_table(
        "membership",
        sa.Column("operator_id", sa.Integer(), nullable=False),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["operator_id"], ["operator.id"], name=op.f("fk_membership_operator_id")),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_membership_tenant_id")),
        sa.PrimaryKeyConstraint("operator_id", "tenant_id", name=op.f("pk_membership")),
    )
    op.create_index("ix_membership_tenant_id", "membership", ["tenant_id"], unique=False)
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
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_outbox_event_aggregate",
        "outbox_event",
        ["tenant_id", "aggregate_type", "aggregate_id", "id"],
        unique=False,
    )
    op.create_index(
        "ix_outbox_event_tenant_position",
        "outbox_event",
        ["tenant_id", "position"],
        unique=False,
        postgresql_where=sa.text("position IS NOT NULL"),
        sqlite_where=sa.text("position IS NOT NULL"),
    )
    op.create_index(
        "ix_outbox_event_tenant_type_position",
        "outbox_event",
        ["tenant_id", "event_type", "position"],
        unique=False,
        postgresql_where=sa.text("position IS NOT NULL"),
        sqlite_where=sa.text("position IS NOT NULL"),
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
    op.create_index(
        "uq_outbox_event_position",
        "outbox_event",
        ["position"],
        unique=True,
        postgresql_where=sa.text("position IS NOT NULL"),
        sqlite_where=sa.text("position IS NOT NULL"),
    )
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
    op.create_index("ix_outcome_created", "outcome", ["tenant_id", "created_at"], unique=False)
    op.create_index("ix_outcome_customer", "outcome", ["tenant_id", "customer"], unique=False)
    op.create_table(
        "purge_mark",
        sa.Column("stream", sa.String(length=20), nullable=False),
        sa.Column("upto_position", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(
            ["stream"],
            ["purge_mark_kept.stream"],
            name=op.f("fk_purge_mark_stream"),
            initially="DEFERRED",
            deferrable=True,
        ),
        sa.PrimaryKeyConstraint("stream", name=op.f("pk_purge_mark")),
    )
    op.create_table(
        "recovery_code",
        sa.Column("operator_id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("used_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["operator_id"], ["operator.id"], name=op.f("fk_recovery_code_operator_id")),
        sa.PrimaryKeyConstraint("operator_id", "digest", name=op.f("pk_recovery_code")),
    )
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
        "second_factor",
        sa.Column("operator_id", sa.Integer(), nullable=False),
        sa.Column("secret", sa.String(length=400), nullable=False),
        sa.Column("turned_on_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("last_counter", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(["operator_id"], ["operator.id"], name=op.f("fk_second_factor_operator_id")),
        sa.PrimaryKeyConstraint("operator_id", name=op.f("pk_second_factor")),
    )
    op.create_table(
        "sign_in_link",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("operator_id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("made_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("expires_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("used_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["operator_id"], ["operator.id"], name=op.f("fk_sign_in_link_operator_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_link")),
        sa.UniqueConstraint("digest", name=op.f("uq_sign_in_link_digest")),
    )
    op.create_index("ix_sign_in_link_expires_at", "sign_in_link", ["expires_at"], unique=False)
    op.create_table(
        "sweep_fault",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("run_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("row", sa.String(length=200), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["sweep_run.id"], name=op.f("fk_sweep_fault_run_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenant.id"], name=op.f("fk_sweep_fault_tenant_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sweep_fault")),
    )
    op.create_index("ix_sweep_fault_at", "sweep_fault", ["at", "id"], unique=False)
    op.create_index("ix_sweep_fault_run_id", "sweep_fault", ["run_id"], unique=False)
    op.create_index("ix_sweep_fault_tenant_at", "sweep_fault", ["tenant_id", "at", "id"], unique=False)
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
        "webhook_endpoint",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("url", sa.String(length=2000), nullable=False),
        sa.Column("address_version", sa.Integer(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("event_types", models.base.StoredJson(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("paused_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("paused_by", sa.String(length=200), nullable=True),
        sa.Column("paused_reason", sa.String(length=200), nullable=True),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("updated_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_webhook_endpoint_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_endpoint")),
    )
    op.create_index(
        "ix_webhook_endpoint_tenant",
        "webhook_endpoint",
        ["tenant_id", "state", "created_at", "id"],
        unique=False,
    )
    op.create_table(
        "bulk_item",
        sa.Column("operation_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("row_id", sa.String(length=40), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("code", sa.String(length=40), nullable=True),
        sa.Column("reason", sa.String(length=500), nullable=True),
        sa.Column("at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["operation_id"], ["bulk_operation.id"], name=op.f("fk_bulk_item_operation_id")
        ),
        sa.PrimaryKeyConstraint("operation_id", "position", name=op.f("pk_bulk_item")),
    )
    op.create_index("ix_bulk_item_state", "bulk_item", ["operation_id", "state", "position"], unique=False)
    op.create_table(
        "delivery",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("endpoint_id", sa.Uuid(), nullable=False),
        sa.Column("event_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("claimed_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("delivered_at", models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("last_status", sa.Integer(), nullable=True),
        sa.Column("last_error", sa.String(length=500), nullable=True),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("updated_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "(next_attempt_at IS NULL) = (state IN ('dead', 'delivered'))",
            name=op.f("ck_delivery_open_has_next"),
        ),
        sa.ForeignKeyConstraint(
            ["endpoint_id"], ["webhook_endpoint.id"], name=op.f("fk_delivery_endpoint_id")
        ),
        sa.ForeignKeyConstraint(["event_id"], ["outbox_event.id"], name=op.f("fk_delivery_event_id")),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_delivery_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
    )
    op.create_index(
        "ix_delivery_due",
        "delivery",
        ["endpoint_id", "next_attempt_at", "id"],
        unique=False,
        postgresql_where=sa.text("next_attempt_at IS NOT NULL"),
        sqlite_where=sa.text("next_attempt_at IS NOT NULL"),
    )
    op.create_index(
        "ix_delivery_endpoint_over",
        "delivery",
        ["endpoint_id", "state", "updated_at", "id"],
        unique=False,
        postgresql_where=sa.text("next_attempt_at IS NULL"),
        sqlite_where=sa.text("next_attempt_at IS NULL"),
    )
    op.create_index("ix_delivery_state_updated", "delivery", ["state", "updated_at", "id"], unique=False)
    op.create_index(
        "ix_delivery_tenant_open",
        "delivery",
        ["tenant_id", "state", "next_attempt_at", "id"],
        unique=False,
        postgresql_where=sa.text("next_attempt_at IS NOT NULL"),
        sqlite_where=sa.text("next_attempt_at IS NOT NULL"),
    )
    op.create_index(
        "ix_delivery_tenant_over",
        "delivery",
        ["tenant_id", "state", "updated_at", "id"],
        unique=False,
        postgresql_where=sa.text("next_attempt_at IS NULL"),
        sqlite_where=sa.text("next_attempt_at IS NULL"),
    )
    op.create_index("uq_delivery_event_endpoint", "delivery", ["event_id", "endpoint_id"], unique=True)
    op.create_table(
        "kept_answer",
        sa.Column("token_id", sa.Integer(), nullable=False),
        sa.Column("call", sa.String(length=64), nullable=False),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("body_digest", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("created_at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_kept_answer_tenant_id")),
        sa.ForeignKeyConstraint(["token_id"], ["api_token.id"], name=op.f("fk_kept_answer_token_id")),
        sa.PrimaryKeyConstraint("token_id", "call", name=op.f("pk_kept_answer")),
    )
    op.create_index("ix_kept_answer_created_at", "kept_answer", ["created_at"], unique=False)
    op.create_index("ix_kept_answer_tenant", "kept_answer", ["tenant_id", "created_at"], unique=False)
    op.create_table(
        "message",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("conversation_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("source", sa.String(length=40), server_default="native", nullable=False),
        sa.Column("external_id", sa.String(length=200), nullable=False),
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("direction", sa.String(length=20), nullable=False),
        sa.Column("sender", models.base.StoredJson(), nullable=False),
        sa.Column("private", sa.Boolean(), nullable=False),
        sa.Column("auto_reply", sa.Boolean(), nullable=False),
        sa.Column("customer", sa.String(length=200), nullable=True),
        sa.Column("writer", sa.String(length=200), nullable=True),
        sa.Column("agent", sa.String(length=200), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("metadata", models.base.StoredJson(), nullable=False),
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
    op.create_index("ix_message_stored", "message", ["tenant_id", "stored_at"], unique=False)
    op.create_index(
        "ix_message_writer",
        "message",
        ["tenant_id", "writer"],
        unique=False,
        postgresql_where=sa.text("writer IS NOT NULL"),
        sqlite_where=sa.text("writer IS NOT NULL"),
    )
    op.create_index("ix_message_seq", "message", ["conversation_id", "direction", "seq"], unique=False)
    op.create_index("uq_message_external", "message", ["tenant_id", "external_id", "source"], unique=True)
    op.create_table(
        "delivery_event",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("delivery_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("from_state", sa.String(length=20), nullable=False),
        sa.Column("to_state", sa.String(length=20), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("error", sa.String(length=500), nullable=True),
        sa.Column("duration_ms", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["delivery_id"], ["delivery.id"], name=op.f("fk_delivery_event_delivery_id")),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=op.f("fk_delivery_event_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery_event")),
    )
    op.create_index("ix_delivery_event_delivery", "delivery_event", ["delivery_id", "id"], unique=False)

    op.create_index(
        "ix_follow_up_customer_lower", "follow_up", ["tenant_id", sa.text("lower(customer)")], unique=False
    )

    op.execute("INSERT INTO position_counter (stream, last) VALUES ('audit_event', 0), ('outbox_event', 0)")
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
    op.drop_index("ix_delivery_event_delivery", table_name="delivery_event")
    op.drop_table("delivery_event")
    op.drop_index("uq_message_external", table_name="message")
    op.drop_index("ix_message_seq", table_name="message")
    op.drop_index(
        "ix_message_writer",
        table_name="message",
        postgresql_where=sa.text("writer IS NOT NULL"),
        sqlite_where=sa.text("writer IS NOT NULL"),
    )
    op.drop_index("ix_message_stored", table_name="message")
    op.drop_index("ix_message_customer", table_name="message")
    op.drop_index("ix_message_conversation", table_name="message")
    op.drop_table("message")
    op.drop_index("ix_kept_answer_tenant", table_name="kept_answer")
    op.drop_index("ix_kept_answer_created_at", table_name="kept_answer")
    op.drop_table("kept_answer")
    op.drop_index("uq_delivery_event_endpoint", table_name="delivery")
    op.drop_index(
        "ix_delivery_tenant_over",
        table_name="delivery",
        postgresql_where=sa.text("next_attempt_at IS NULL"),
        sqlite_where=sa.text("next_attempt_at IS NULL"),
    )
    op.drop_index(
        "ix_delivery_tenant_open",
        table_name="delivery",
        postgresql_where=sa.text("next_attempt_at IS NOT NULL"),
        sqlite_where=sa.text("next_attempt_at IS NOT NULL"),
    )
    op.drop_index("ix_delivery_state_updated", table_name="delivery")
    op.drop_index(
        "ix_delivery_endpoint_over",
        table_name="delivery",
        postgresql_where=sa.text("next_attempt_at IS NULL"),
        sqlite_where=sa.text("next_attempt_at IS NULL"),
    )
    op.drop_index(
        "ix_delivery_due",
        table_name="delivery",
        postgresql_where=sa.text("next_attempt_at IS NOT NULL"),
        sqlite_where=sa.text("next_attempt_at IS NOT NULL"),
    )
    op.drop_table("delivery")
    op.drop_index("ix_bulk_item_state", table_name="bulk_item")
    op.drop_table("bulk_item")
    op.drop_index("ix_webhook_endpoint_tenant", table_name="webhook_endpoint")
    op.drop_table("webhook_endpoint")
    op.drop_index("ix_task_event_task", table_name="task_event")
    op.drop_table("task_event")
    op.drop_index("ix_sweep_fault_tenant_at", table_name="sweep_fault")
    op.drop_index("ix_sweep_fault_run_id", table_name="sweep_fault")
    op.drop_index("ix_sweep_fault_at", table_name="sweep_fault")
    op.drop_table("sweep_fault")
    op.drop_index("ix_sign_in_link_expires_at", table_name="sign_in_link")
    op.drop_table("sign_in_link")
    op.drop_table("second_factor")
    op.drop_index("ix_revoke_event_customer", table_name="revoke_event")
    op.drop_table("revoke_event")
    op.drop_table("recovery_code")
    op.drop_table("purge_mark")
    op.drop_index("ix_outcome_customer", table_name="outcome")
    op.drop_index("ix_outcome_created", table_name="outcome")
    op.drop_table("outcome")
    op.drop_index(
        "uq_outbox_event_position",
        table_name="outbox_event",
        postgresql_where=sa.text("position IS NOT NULL"),
        sqlite_where=sa.text("position IS NOT NULL"),
    )
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
    op.drop_index(
        "ix_outbox_event_tenant_type_position",
        table_name="outbox_event",
        postgresql_where=sa.text("position IS NOT NULL"),
        sqlite_where=sa.text("position IS NOT NULL"),
    )
    op.drop_index(
        "ix_outbox_event_tenant_position",
        table_name="outbox_event",
        postgresql_where=sa.text("position IS NOT NULL"),
        sqlite_where=sa.text("position IS NOT NULL"),
    )
    op.drop_index("ix_outbox_event_aggregate", table_name="outbox_event")
    op.drop_table("outbox_event")
    op.drop_index("ix_membership_tenant_id", table_name="membership")
    op.drop_table("membership")
    op.drop_index("ix_handling_tenant", table_name="handling")
    op.drop_index("ix_handling_at", table_name="handling")
    op.drop_table("handling")
    op.drop_index(
        "ix_follow_up_status_updated", table_name="follow_up", postgresql_where=sa.text("status != 'pending'")
    )
    op.drop_index("ix_follow_up_status_created", table_name="follow_up")
    op.drop_index("ix_follow_up_reason", table_name="follow_up")
    op.drop_index(
        "ix_follow_up_rearmed_from",
        table_name="follow_up",
        postgresql_where=sa.text("rearmed_from IS NOT NULL"),
        sqlite_where=sa.text("rearmed_from IS NOT NULL"),
    )
    op.drop_index(
        "ix_follow_up_pending_reason",
        table_name="follow_up",
        postgresql_where=sa.text("status = 'pending'"),
        sqlite_where=sa.text("status = 'pending'"),
    )
    op.drop_index(
        "ix_follow_up_pending_at",
        table_name="follow_up",
        postgresql_where=sa.text("status = 'pending'"),
        sqlite_where=sa.text("status = 'pending'"),
    )
    op.drop_index(
        "ix_follow_up_pending_arm",
        table_name="follow_up",
        postgresql_where=sa.text("status = 'pending'"),
        sqlite_where=sa.text("status = 'pending'"),
    )
    op.drop_index(
        "ix_follow_up_pending",
        table_name="follow_up",
        postgresql_where=sa.text("status = 'pending'"),
        sqlite_where=sa.text("status = 'pending'"),
    )
    op.drop_index(
        "ix_follow_up_over_reason", table_name="follow_up", postgresql_where=sa.text("status != 'pending'")
    )
    op.drop_index(
        "ix_follow_up_over_arm", table_name="follow_up", postgresql_where=sa.text("status != 'pending'")
    )
    op.drop_index(
        "ix_follow_up_over_agent", table_name="follow_up", postgresql_where=sa.text("status != 'pending'")
    )
    op.drop_index(
        "ix_follow_up_failing",
        table_name="follow_up",
        postgresql_where=sa.text("status = 'pending' AND attempts > 0"),
        sqlite_where=sa.text("status = 'pending' AND attempts > 0"),
    )
    op.drop_index(
        "ix_follow_up_due",
        table_name="follow_up",
        postgresql_include=["customer"],
        postgresql_where=sa.text("status = 'pending'"),
        sqlite_where=sa.text("status = 'pending'"),
    )
    op.drop_index(
        "ix_follow_up_deferred",
        table_name="follow_up",
        postgresql_where=sa.text("status = 'pending' AND deferred_until IS NOT NULL"),
        sqlite_where=sa.text("status = 'pending' AND deferred_until IS NOT NULL"),
    )
    op.drop_index("ix_follow_up_customer", table_name="follow_up")
    op.drop_index("ix_follow_up_created", table_name="follow_up")
    op.drop_index(
        "ix_follow_up_blocked",
        table_name="follow_up",
        postgresql_where=sa.text("status = 'blocked'"),
        sqlite_where=sa.text("status = 'blocked'"),
    )
    op.drop_index("ix_follow_up_arm", table_name="follow_up")
    op.drop_index("ix_follow_up_agent_arm", table_name="follow_up")
    op.drop_index("ix_follow_up_agent", table_name="follow_up")
    op.drop_table("follow_up")
    op.drop_table("erased_opt_out")
    op.drop_index("uq_conversation_external", table_name="conversation")
    op.drop_index("ix_conversation_updated", table_name="conversation")
    op.drop_index("ix_conversation_customer", table_name="conversation")
    op.drop_table("conversation")
    op.drop_index("uq_contact_customer", table_name="contact")
    op.drop_index("ix_contact_state", table_name="contact")
    op.drop_table("contact")
    op.drop_index(
        "ix_bulk_operation_running",
        table_name="bulk_operation",
        postgresql_where=sa.text("state = 'running'"),
        sqlite_where=sa.text("state = 'running'"),
    )
    op.drop_index("ix_bulk_operation_finished", table_name="bulk_operation")
    op.drop_index("ix_bulk_operation_created", table_name="bulk_operation")
    op.drop_table("bulk_operation")
    op.drop_index(
        "uq_audit_event_position",
        table_name="audit_event",
        postgresql_where=sa.text("position IS NOT NULL"),
        sqlite_where=sa.text("position IS NOT NULL"),
    )
    op.drop_index(
        "ix_audit_event_unplaced",
        table_name="audit_event",
        postgresql_where=sa.text("position IS NULL"),
        sqlite_where=sa.text("position IS NULL"),
    )
    op.drop_index("ix_audit_event_type", table_name="audit_event")
    op.drop_index("ix_audit_event_tenant_at", table_name="audit_event")
    op.drop_index("ix_audit_event_tenant_actor", table_name="audit_event")
    op.drop_index("ix_audit_event_tenant_action", table_name="audit_event")
    op.drop_index("ix_audit_event_resource", table_name="audit_event")
    op.drop_index(
        "ix_audit_event_not_done",
        table_name="audit_event",
        postgresql_where=sa.text("result != 'success'"),
        sqlite_where=sa.text("result != 'success'"),
    )
    op.drop_table("audit_event")
    op.drop_table("attention_episode")
    op.drop_index(
        "uq_api_token_name",
        table_name="api_token",
        postgresql_where=sa.text("revoked_at IS NULL"),
        sqlite_where=sa.text("revoked_at IS NULL"),
    )
    op.drop_index("ix_api_token_tenant_id", table_name="api_token")
    op.drop_table("api_token")
    op.drop_index(
        "ix_agent_task_waiting",
        table_name="agent_task",
        postgresql_where=sa.text("status IN ('dispatched', 'queued')"),
        sqlite_where=sa.text("status IN ('dispatched', 'queued')"),
    )
    op.drop_index("ix_agent_task_status", table_name="agent_task")
    op.drop_index("ix_agent_task_customer", table_name="agent_task")
    op.drop_index("ix_agent_task_created", table_name="agent_task")
    op.drop_index("ix_agent_task_agent", table_name="agent_task")
    op.drop_table("agent_task")
    op.drop_table("agent_hold")
    op.drop_table("tenant")
    op.drop_index("uq_sweep_slot_name_slot_at", table_name="sweep_slot")
    op.drop_index(
        "ix_sweep_slot_waiting",
        table_name="sweep_slot",
        postgresql_where=sa.text("state = 'waiting'"),
        sqlite_where=sa.text("state = 'waiting'"),
    )
    op.drop_index("ix_sweep_slot_slot_at", table_name="sweep_slot")
    op.drop_table("sweep_slot")
    op.drop_index("ix_sweep_run_started_at", table_name="sweep_run")
    op.drop_index(
        "ix_sweep_run_running",
        table_name="sweep_run",
        postgresql_where=sa.text("status = 'running'"),
        sqlite_where=sa.text("status = 'running'"),
    )
    op.drop_index("ix_sweep_run_name_status_started_at", table_name="sweep_run")
    op.drop_index("ix_sweep_run_name_status_finished_at", table_name="sweep_run")
    op.drop_index("ix_sweep_run_name_started_at", table_name="sweep_run")
    op.drop_table("sweep_run")
    op.drop_table("sweep_pause")
    op.drop_table("sweep_lease")
    op.drop_index("ix_sent_form_at", table_name="sent_form")
    op.drop_table("sent_form")
    op.drop_table("purge_mark_kept")
    op.drop_table("position_counter")
    op.drop_table("operator")
    op.drop_table("followup_policy_seen")
    op.drop_table("config_version")
    op.drop_table("config_fault")
    op.drop_table("audit_seal")
    for statement in audit_triggers.drop(op.get_bind().dialect.name):
        op.execute(statement)
