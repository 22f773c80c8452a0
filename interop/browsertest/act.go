package browsertest

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var keys = map[string]string{
	"Tab": kb.Tab, "Enter": kb.Enter, "Escape": kb.Escape, "Esc": kb.Escape, "Space": " ",
	"Backspace": kb.Backspace, "Delete": kb.Delete, "Home": kb.Home, "End": kb.End,
	"PageUp": kb.PageUp, "PageDown": kb.PageDown,
	"ArrowUp": kb.ArrowUp, "ArrowDown": kb.ArrowDown, "ArrowLeft": kb.ArrowLeft, "ArrowRight": kb.ArrowRight,
}

var modifiers = map[string]kb.Modifier{
	"Shift": kb.ModifierShift, "Control": kb.ModifierCtrl, "Alt": kb.ModifierAlt, "Meta": kb.ModifierMeta,
}

// raw makes a key press the kind that a keyboard makes: what handles its keydown
// gets no keypress after it. Otherwise Enter on a link that moves the focus into
// a form would also send that form.
func raw(event *input.DispatchKeyEventParams) {
	if event.Type == input.DispatchKeyEventTypeKeyDown {
		event.Type = input.DispatchKeyEventTypeRawKeyDown
	}
}

// Press presses keys one after the other: "Tab", "Shift+Tab", "Enter", "Space",
// "Escape", "ArrowDown", "Control+a", or a single character.
func (p *Page) Press(chords ...string) {
	p.t.Helper()
	for _, chord := range chords {
		key, held := chord, []kb.Modifier(nil)
		for {
			name, rest, more := strings.Cut(key, "+")
			modifier, ok := modifiers[name]
			if !more || !ok {
				break
			}
			key, held = rest, append(held, modifier)
		}
		code, ok := keys[key]
		if !ok {
			if utf8.RuneCountInString(key) != 1 {
				p.t.Fatalf("browsertest: no key is called %q", key)
			}
			code = key
		}
		if err := chromedp.Do(p.ctx, chromedp.KeyEvent(code, chromedp.KeyModifiers(held...), raw)); err != nil {
			p.t.Fatalf("browsertest: pressing %s: %v", chord, err)
		}
	}
}

// Type types text into the element that has the focus, key by key.
func (p *Page) Type(text string) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.KeyEvent(text, raw)); err != nil {
		p.t.Fatalf("browsertest: typing: %v", err)
	}
}

// hit reports what stops a click on this element at (x, y) of the viewport,
// or ”. A label may lie above its own control.
const hit = `function(x, y) {
	let at = document.elementFromPoint(x, y);
	while (at && at.shadowRoot) {
		const deeper = at.shadowRoot.elementFromPoint(x, y);
		if (!deeper || deeper === at) break;
		at = deeper;
	}
	for (let node = at; node; node = node.assignedSlot ?? node.parentNode ?? node.host) {
		if (node === this || node.control === this) return '';
	}
	return at ? 'the click would meet ' + at.outerHTML.slice(0, 120) : 'it is outside of the viewport';
}`

// aim waits for the click that is about to be made on this element. The page may be
// drawn anew meanwhile: a click that meets something else, or the element when it is
// disabled, goes no further; one whose press and release meet two elements is none.
const aim = `function() {
	const view = this.ownerDocument.defaultView;
	const judge = (event) => {
		if (!event.isTrusted) return;
		aimed.end();
		aimed.met = !this.matches(':disabled, [aria-disabled="true"]') && event.composedPath().some((node) => node === this || node.control === this);
		if (aimed.met) return;
		event.preventDefault();
		event.stopImmediatePropagation();
	};
	const aimed = {met: false, end: () => view.removeEventListener('click', judge, true)};
	view.addEventListener('click', judge, true);
	return aimed;
}`

// Click waits until one element matches, is enabled (by aria-disabled too) and
// is not covered, and clicks its middle with the mouse, until the element was met.
func (p *Page) Click(q Query) {
	p.t.Helper()
	p.wait(func() error {
		id, err := p.one(q)
		if err != nil {
			return err
		}
		if disabled, err := on[bool](p, id, `function() { return this.matches(':disabled, [aria-disabled="true"]') }`); err != nil {
			return err
		} else if disabled {
			return fmt.Errorf("%v is disabled", q)
		}
		x, y, err := p.middle(id)
		if err != nil {
			return fmt.Errorf("%v cannot be seen: %w", q, err)
		}
		obstacle, err := on[string](p, id, hit, x, y)
		if err != nil {
			return err
		}
		if obstacle != "" {
			return fmt.Errorf("%v cannot be clicked: %s", q, obstacle)
		}
		element, err := p.object(id)
		if err != nil {
			return err
		}
		aimed, err := p.callOn(element, aim, false)
		if err != nil {
			return err
		}
		if err := chromedp.Do(p.ctx, chromedp.MouseClickXY(x, y)); err != nil {
			return err
		}
		met, err := p.callOn(aimed.ObjectID, `function() { this.end(); return this.met }`, true)
		if err == nil && string(met.Value) != "true" { // an error: the click led to another page
			return fmt.Errorf("%v was drawn anew under the click", q)
		}
		return nil
	})
}

// middle scrolls the element into view and returns its middle in the viewport.
func (p *Page) middle(id cdp.BackendNodeID) (x, y float64, err error) {
	if _, err := try(p, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{BackendNodeID: id}); err != nil {
		return 0, 0, err
	}
	result, err := try(p, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: id})
	if err != nil {
		return 0, 0, err
	}
	if len(result.Quads) == 0 || len(result.Quads[0]) != 8 {
		return 0, 0, errors.New("it has no box")
	}
	for i, v := range result.Quads[0] {
		if i%2 == 0 {
			x += v / 4
		} else {
			y += v / 4
		}
	}
	return x, y, nil
}

// Focus gives the focus to the element that q matches.
func (p *Page) Focus(q Query) {
	p.t.Helper()
	p.wait(func() error {
		id, err := p.one(q)
		if err != nil {
			return err
		}
		_, err = try(p, dom.Focus, dom.FocusParams{BackendNodeID: id})
		return err
	})
}

// prepare readies a control for text. It reports whether the text is in place:
// pickers of dates and the like take no typed text, a list takes an option.
const prepare = `function(text) {
	this.focus();
	const said = () => {
		this.dispatchEvent(new Event('input', {bubbles: true, composed: true}));
		this.dispatchEvent(new Event('change', {bubbles: true}));
		return true;
	};
	if (this instanceof HTMLSelectElement) {
		const option = [...this.options].find((o) => o.label === text);
		if (!option) throw new Error('no option is called ' + text);
		this.value = option.value;
		return said();
	}
	if (['date', 'datetime-local', 'month', 'time', 'week', 'color', 'range'].includes(this.type)) {
		this.value = text;
		return said();
	}
	if (this.select) this.select(); else getSelection().selectAllChildren(this);
	return false;
}`

// Fill puts text into the field with that accessible name, in place of what is
// there. For a date or time, text is the value as HTML writes it; for a select
// element, the label of an option. The field keeps the focus.
func (p *Page) Fill(label, text string) {
	p.t.Helper()
	p.wait(func() error {
		id, err := p.field(label)
		if err != nil {
			return err
		}
		if disabled, err := on[bool](p, id, `function() { return this.matches(':disabled, :read-only:not(select)') }`); err != nil {
			return err
		} else if disabled {
			return fmt.Errorf("the field %q cannot be changed", label)
		}
		done, err := on[bool](p, id, prepare, text)
		if err != nil || done {
			return err
		}
		if text == "" {
			p.Press("Delete")
		} else if _, err := try(p, input.InsertText, input.InsertTextParams{Text: text}); err != nil {
			return err
		}
		// The page may have moved the focus, or the caret, before the text came.
		held, err := on[string](p, id, `function() { return this.value ?? this.textContent }`)
		if err == nil && held != text {
			err = fmt.Errorf("the field %q holds %q after it was filled", label, held)
		}
		return err
	})
}

// field returns the control that takes text or a choice and has this name.
func (p *Page) field(label string) (cdp.BackendNodeID, error) {
	nodes, err := p.nodes()
	if err != nil {
		return 0, err
	}
	var found []cdp.BackendNodeID
	for _, node := range nodes {
		if !node.ignored && node.name == label && fields[node.role] {
			found = append(found, node.element)
		}
	}
	if len(found) != 1 {
		return 0, fmt.Errorf("%d fields are called %q, which should be one", len(found), label)
	}
	return found[0], nil
}

// fields are the roles that take text or a choice; Chromium names some itself.
var fields = map[string]bool{
	"textbox": true, "searchbox": true, "spinbutton": true, "combobox": true, "listbox": true, "slider": true,
	"Date": true, "DateTime": true, "InputTime": true, "ColorWell": true,
}
