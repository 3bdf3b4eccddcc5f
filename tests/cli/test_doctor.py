"""`desk doctor`: each fault is found and comes with what to do about it."""

import os


def faults(ran):
    return {check["name"]: check for check in ran.json["checks"] if not check["ok"]}


def test_doctor_names_what_does_not_run_when_nothing_was_started(desk):
    ran = desk("doctor", "--json")
    assert ran.code == 1
    assert ran.json["ok"] is False
    assert set(faults(ran)) >= {"desk.toml", "scheduler", "Redis"}
    assert faults(ran)["scheduler"]["advice"].startswith("Start one: desk scheduler")
    shown = desk("doctor").out
    assert "FAULT  Redis: " in shown
    assert shown.endswith(" checks found a fault.\n")


def test_doctor_names_each_fault_with_its_path_when_the_policy_is_wrong(desk):
    desk.config.write_text(
        "[agents.billing.followup]\n"
        'max_frequency = "2/3w"\nsilence_after_sends = 0\n'
        '[sweeps.deliver]\nevery = "never"\n'
        '[retention]\nfollowups = "a while"\n'
        "[nonsense]\n"
    )
    desk.ok("tenant", "list")  # whoever comes by first adopts the file
    found = faults(desk("doctor", "--json"))
    assert set(found) >= {
        "agents.billing.followup.max_frequency",
        "agents.billing.followup.silence_after_sends",
        "sweeps.deliver.every",
        "retention.followups",
        "nonsense",
    }
    assert "'2/3w'" in found["agents.billing.followup.max_frequency"]["found"]


def test_doctor_says_what_is_in_force_when_the_file_does_not_parse(desk):
    desk.config.write_text("[agents.billing.followup]\n")
    desk.ok("tenant", "list")
    desk.config.write_text("[agents\n")
    found = faults(desk("doctor", "--json"))
    assert "can't be read" in found["desk.toml"]["found"]
    assert "The last good version stays in force" in found["desk.toml"]["advice"]


def test_doctor_finds_open_files_when_others_could_read_a_secret(desk):
    desk.patch.delenv("SECRET_KEY")
    desk.ok("tenant", "list")
    secret = desk.var / "secret_key"
    assert "mode of var/secret_key" not in faults(desk("doctor", "--json"))
    os.chmod(secret, 0o644)
    assert faults(desk("doctor", "--json"))["mode of var/secret_key"]["advice"] == f"Run: chmod 600 {secret}"


def test_doctor_names_the_database_when_it_cannot_be_reached(desk):
    desk.patch.setenv("DATABASE_URL", "postgresql://desk:a-password@127.0.0.1:1/desk")
    ran = desk("doctor", "--json")
    assert ran.code == 1
    assert "127.0.0.1" in faults(ran)["database"]["found"]
    assert "a-password" not in ran.out


def test_doctor_asks_for_migrations_when_the_database_is_new(desk, tmp_path):
    desk.patch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/new/desk.db")
    assert faults(desk("doctor", "--json"))["migrations"]["advice"] == "Run: desk db upgrade"


def test_doctor_names_redis_when_it_does_not_answer(desk):
    desk.patch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    assert faults(desk("doctor", "--json"))["Redis"]["advice"] == "Start it, or correct REDIS_URL."
