"""The words of the demo data."""

AGENTS = ("store-support", "billing", "night-dispatch")
REASONS = {
    "store-support": (
        "PIX payment still pending",
        "asked to be reminded of the cart on Friday",
        "parcel is due today, ask whether it came",
        "size M is back in stock",
        "wanted to think about the sofa until the weekend",
        "replacement was sent, ask whether it fits",
    ),
    "billing": (
        "invoice 2207 is open",
        "direct debit came back",
        "promised to pay after the 5th",
        "asked for a payment plan",
    ),
    "night-dispatch": (
        "gate code missing for tonight's stop",
        "pallet count to be confirmed",
        "asked for the route again after the break",
        "loading bay 4 reopens",
    ),
}
REPLIES = (
    "Thanks, I will look at it tonight.",
    "Could you ask me again tomorrow?",
    "It arrived, all good.",
    "Not yet, I am still waiting.",
    "Yes please, keep me posted.",
)
STOP = "Please stop writing to me."
