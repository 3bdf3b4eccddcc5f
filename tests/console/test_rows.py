import pytest
from markupsafe import Markup

from desk_ui.rows import Shape, slot


def test_shape_is_filled_in_with_each_rows_own_values():
    shape = Shape(Markup('<a href="/{}">{}</a> {}').format(slot("id"), slot("name"), slot("name")))
    assert shape.filled({"id": 1, "name": "c-1"}) == '<a href="/1">c-1</a> c-1'
    assert shape.filled({"id": 2, "name": "c-2"}) == '<a href="/2">c-2</a> c-2'


def test_shape_escapes_every_value():
    shape = Shape(Markup("<b>{}</b>{}").format(slot("state"), slot("text")))
    filled = shape.filled({"state": "on & off", "text": "<i> \"&' %s {id}"})
    assert filled == "<b>on &amp; off</b>&lt;i&gt; &#34;&amp;&#39; %s {id}"


def test_shape_keeps_values_apart_when_one_holds_the_edge_of_a_slot():
    shape = Shape(Markup("{}|{}").format(slot("a"), slot("b")))
    assert shape.filled({"a": "<\0", "b": "\0>"}) == "&lt;\0|\0&gt;"


def test_shape_fails_when_a_value_is_missing():
    with pytest.raises(KeyError):
        Shape(slot("id")).filled({"name": "c-1"})
