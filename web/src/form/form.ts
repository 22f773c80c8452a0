// A form made from a view: the fields in the server's order, the error summary,
// and the raw input. Used for questions and for the arguments of a tool.

import { el, bdi, type Child } from '../lib/dom'
import { t } from '../lib/text'
import type { Field, FieldError, Input, Raw, View } from '../lib/wire'
import { looksRight } from './check'
import { ChoiceControl } from './choice'
import type { Control, Setting } from './control'
import { DateControl, MomentControl } from './date'
import { TextControl } from './text'

export type FormOptions = {
	view: View
	/** Who asks; "" for the arguments of a tool. */
	server: string
	/** Values from an earlier answer. */
	suggested?: Input | null
	/** What was typed before a reload. */
	draft?: Input | null
	/** Told on every change, with the input as it is now. */
	changed?: (input: Input) => void
}

export class Form {
	/** Error summary and fields. It is no <form>: the owner puts it into one with its buttons. */
	readonly node: HTMLElement
	/** Why this form cannot be sent at all, as a sentence, or "". */
	readonly stopped: string
	/** Whether a value stands that nobody typed: then a review is due. */
	readonly prefilled: boolean
	readonly controls: readonly Control[]
	readonly #summary: HTMLElement
	readonly #errors = new Set<Control>()

	constructor({ view, server, suggested, draft, changed }: FormOptions) {
		this.#summary = el('div', { class: 'summary', tabIndex: -1, hidden: true, 'data-part': 'summary' })
		const controls: Control[] = []
		const nodes: Child[] = []
		let stopped = view.problem ?? ''
		let prefilled = false
		for (const field of view.fields ?? []) {
			if (field.control === 'unsupported') {
				nodes.push(unsupported(field))
				if (field.required) stopped ||= t('form.stopped', { label: field.label || field.name, reason: field.problem ?? '' })
				continue
			}
			const earlier = ownOf(suggested, field.name) ?? null
			const preset: Raw | null = earlier ?? field.default ?? null
			const from = earlier !== null ? 'earlier' : preset !== null && !blank(preset) ? 'default' : ''
			prefilled ||= from !== ''
			const notes = (view.notes ?? []).filter((note) => note.name === field.name).map((note) => note.text)
			const setting: Setting = { server, from, notes, changed: () => this.#changed(changed) }
			const control = controlFor(field, setting)
			if (preset !== null) control.set(preset)
			const typed = ownOf(draft, field.name)
			if (typed !== undefined) control.set(typed)
			controls.push(control)
			nodes.push(control.node)
		}
		this.controls = controls
		this.stopped = stopped
		this.prefilled = prefilled
		this.node = el('div', { class: 'form' }, this.#summary, nodes, leftOut(view.left_out ?? []))
	}

	#changed(told: ((input: Input) => void) | undefined): void {
		// After a failed submit an error goes away when its field becomes right;
		// no new one comes while typing.
		for (const control of this.#errors) {
			if (control.problem() === null && looksRight(control.field, control.value())) {
				control.fail(null)
				this.#errors.delete(control)
			}
		}
		told?.(this.input())
	}

	/** input is every field's raw value. A cleared field is sent as empty, so that a default does not come back. */
	input(): Input {
		return Object.fromEntries(this.controls.map((control) => [control.field.name, control.value()]))
	}

	/** ownErrors are the problems that only the page can see. */
	ownErrors(): FieldError[] {
		return this.controls.flatMap((control) => {
			const text = control.problem()
			return text === null ? [] : [{ field: control.field.name, code: 'local', text }]
		})
	}

	/** fail shows errors at their fields and in the summary, and moves the focus there. */
	fail(errors: readonly FieldError[]): void {
		this.clear()
		const items: Child[] = []
		for (const error of errors) {
			const control = this.controls.find((control) => control.field.name === nameOf(error))
			if (!control) {
				items.push(el('li', null, bdi(error.text)))
				continue
			}
			if (!this.#errors.has(control)) control.fail(error.text)
			this.#errors.add(control)
			items.push(el('li', null, el('a', {
				href: `#${control.target().id}`, on: {
					click: (event) => {
						event.preventDefault()
						const target = control.target()
						target.focus()
						target.scrollIntoView({ block: 'center' })
					},
				},
			}, bdi(error.text))))
		}
		this.#summary.append(el('h4', null, t('error.summary')), el('ul', null, items))
		this.#summary.hidden = false
		this.#tell(true)
		this.#summary.focus()
	}

	// The page that owns the whole window says so in its title; an embedded card
	// leaves the title alone.
	#tell(shown: boolean): void {
		this.node.dispatchEvent(new CustomEvent('parley-problem', { bubbles: true, composed: true, detail: { shown } }))
	}

	/** clear removes all errors. */
	clear(): void {
		if (!this.#summary.hidden) this.#tell(false)
		for (const control of this.#errors) control.fail(null)
		this.#errors.clear()
		this.#summary.replaceChildren()
		this.#summary.hidden = true
	}
}

// ownOf leaves out what every object has: a field may be called constructor.
function ownOf(input: Input | null | undefined, name: string): Raw | undefined {
	return input && Object.hasOwn(input, name) ? input[name] : undefined
}

function nameOf(error: FieldError): string {
	if (error.field) return error.field
	// RFC 6901: "/" then the name with ~1 and ~0 for / and ~.
	const [, name = ''] = /^\/([^/]*)/.exec(error.pointer ?? '') ?? []
	return name.replaceAll('~1', '/').replaceAll('~0', '~')
}

function controlFor(field: Field, setting: Setting): Control {
	switch (field.control) {
		case 'boolean':
		case 'choice':
		case 'choices': return new ChoiceControl(field, setting)
		case 'date': return new DateControl(field, setting)
		case 'date-time': return new MomentControl(field, setting)
		default: return new TextControl(field, setting)
	}
}

function unsupported(field: Field): HTMLElement {
	return el('div', { class: 'field unsupported', 'data-field': field.name, 'data-control': 'unsupported' },
		el('p', { class: 'label' }, el('span', { class: 'foreign', dir: 'auto' }, field.label || field.name)),
		el('p', { class: 'hint' }, field.required ? t('field.undrawable.required') : t('field.undrawable'), ' ', bdi(field.problem ?? '')))
}

function blank(raw: Raw): boolean {
	return raw === '' || Array.isArray(raw) && raw.length === 0
}

function leftOut(list: NonNullable<View['left_out']>): Child {
	if (list.length === 0) return null
	return el('div', { class: 'left-out', 'data-part': 'left-out' }, el('p', null, t('form.left-out')),
		el('ul', null, list.map((one) => el('li', null, el('strong', null, bdi(one.label || one.name)), ' ', bdi(one.problem)))))
}

/** stopNotice says why there is no Send button. */
export function stopNotice(reason: string): HTMLElement {
	return el('p', { class: 'warning', 'data-part': 'stopped' }, el('strong', null, t('form.cannot-send')), ' ', bdi(reason))
}
