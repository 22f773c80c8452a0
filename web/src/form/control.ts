// A control draws one field and holds its raw text. Parsing is the server's:
// what a person typed stays as it was typed, right or wrong.

import { el, uid, bdi, foreign, type Child } from '../lib/dom'
import { rich, t } from '../lib/text'
import type { Field, Raw } from '../lib/wire'

/** What a control knows about its surroundings. */
export type Setting = {
	/** Who asks; "" for the arguments of a tool. */
	server: string
	/** The text under a value that is filled in. */
	from: 'default' | 'earlier' | ''
	/** Told on every change. */
	changed: () => void
	/** Remarks about the field from the view. */
	notes: readonly string[]
}

/** Control is one field on the page. */
export interface Control {
	readonly field: Field
	/** The whole group: label, hints, error, inputs. */
	readonly node: HTMLElement
	value(): Raw
	set(raw: Raw): void
	/** A problem that only this control can see, as a sentence, or null. */
	problem(): string | null
	/** Where the error summary's link goes. */
	target(): HTMLElement
	/** Shows or clears the error at the field. */
	fail(text: string | null): void
}

/** Group is what all controls share: label or legend, hints, error, and who describes what. */
export class Group {
	readonly node: HTMLElement
	readonly id: string
	readonly #hints: string[] = []
	readonly #error: HTMLElement
	readonly #described: () => readonly HTMLElement[]
	readonly #invalid: () => readonly HTMLElement[]
	#failed = false

	/**
	 * A fieldset when the field has several inputs, else a div. described are
	 * the elements that the hints and the error describe, invalid those that
	 * carry aria-invalid: ARIA 1.2 has no such state on a single radio.
	 */
	constructor(field: Field, setting: Setting, options: { fieldset: boolean; radios?: boolean; described: () => readonly HTMLElement[]; invalid: () => readonly HTMLElement[] }, ...inputs: Child[]) {
		this.id = uid('field')
		this.#described = options.described
		this.#invalid = options.invalid
		this.#error = el('p', { class: 'error', id: `${this.id}-error`, hidden: true })
		const label: Child[] = [el('span', { class: 'foreign', dir: 'auto' }, field.label || field.name)]
		if (!field.required) label.push(' ', el('span', { class: 'optional' }, t('field.optional')))
		const head = options.fieldset
			? el('legend', { class: 'label' }, label)
			: el('label', { class: 'label', for: this.id }, label)
		this.node = el(options.fieldset ? 'fieldset' : 'div', { class: 'field', 'data-field': field.name, 'data-control': field.control },
			head, this.#hintsOf(field, setting), this.#error, inputs)
		if (options.radios) this.node.setAttribute('role', 'radiogroup')
	}

	#hint(className: string, ...children: Child[]): HTMLElement {
		const id = `${this.id}-hint${this.#hints.length || ''}`
		this.#hints.push(id)
		return el('p', { class: className, id }, children)
	}

	#hintsOf(field: Field, setting: Setting): Child[] {
		const hints: Child[] = []
		const limits = limitsOf(field)
		const own: Child[] = []
		if (limits) own.push(limits)
		if (setting.from === 'default' && setting.server) own.push(el('span', { class: 'mark' }, rich('field.suggested', { server: setting.server })))
		if (setting.from === 'default' && !setting.server) own.push(el('span', { class: 'mark' }, t('field.default')))
		if (setting.from === 'earlier') own.push(el('span', { class: 'mark' }, t('field.earlier')))
		// One paragraph of sentences; a description of several lines keeps to itself.
		const long = field.hint !== undefined && field.hint.includes('\n')
		if (field.hint && long) hints.push(this.#hint('hint', foreign('span', field.hint)))
		const parts: Child[] = field.hint && !long ? [foreign('span', field.hint), ...own] : own
		if (parts.length > 0) {
			hints.push(this.#hint('hint', parts.map((part, i) => {
				if (i === 0) return part
				const ended = i === 1 && field.hint && !long && /\p{Terminal_Punctuation}\s*$/u.test(field.hint)
				return [ended ? ' ' : '. ', part]
			})))
		}
		for (const note of setting.notes) hints.push(this.#hint('hint mark', note))
		if (field.secret) {
			hints.push(this.#hint('warning', setting.server ? rich('field.secret', { server: setting.server }) : t('field.secret.argument')))
		}
		return hints
	}

	/** describe ties hints and error to the inputs. Call it when inputs come or go. */
	describe(extra: readonly string[] = []): void {
		const ids = [...this.#hints, ...extra]
		if (this.#failed) ids.push(this.#error.id)
		for (const node of this.#described()) {
			if (ids.length > 0) node.setAttribute('aria-describedby', ids.join(' '))
			else node.removeAttribute('aria-describedby')
		}
		for (const node of this.#invalid()) {
			if (this.#failed) node.setAttribute('aria-invalid', 'true')
			else node.removeAttribute('aria-invalid')
		}
	}

	fail(text: string | null, extra: readonly string[] = []): void {
		this.#failed = text !== null
		this.#error.hidden = text === null
		this.#error.replaceChildren()
		if (text !== null) this.#error.append(el('span', { class: 'away' }, t('field.error')), ' ', bdi(text))
		this.node.classList.toggle('failed', this.#failed)
		this.describe(extra)
	}
}

// limitsOf says the limits that a person cannot see otherwise.
function limitsOf(field: Field): string {
	switch (field.control) {
		case 'integer':
		case 'number': return numberLimits(field)
		case 'choices': return itemLimits(field)
		case 'uri': return t('limit.uri')
		case 'json': return t('limit.json')
		default: return ''
	}
}

function numberLimits(field: Field): string {
	const whole = field.control === 'integer'
	const parts: string[] = []
	const { minimum: min, maximum: max, exclusive_minimum: above, exclusive_maximum: below, multiple_of: of } = field
	if (min && max) parts.push(t(whole ? 'limit.whole.between' : 'limit.between', { min, max }))
	else if (min) parts.push(t(whole ? 'limit.whole.least' : 'limit.least', { min }))
	else if (max) parts.push(t(whole ? 'limit.whole.most' : 'limit.most', { max }))
	else if (whole) parts.push(t('limit.whole'))
	if (above) parts.push(t('limit.above', { min: above }))
	if (below) parts.push(t('limit.below', { max: below }))
	if (of && of !== '1') parts.push(t('limit.multiple', { of }))
	return parts.join('. ')
}

function itemLimits(field: Field): string {
	const min = field.min_items ?? 0
	const max = field.max_items ?? 0
	if (min > 0 && min === max) return t('limit.items.exactly', { n: min })
	if (min > 0 && max > 0) return t('limit.items.between', { min, max })
	if (min > 1) return t('limit.items.least', { n: min })
	if (max > 0) return t('limit.items.most', { n: max })
	return t('limit.items.any')
}

/** isLong says whether a text field gets several lines, and with them a count of its characters. */
export function isLong(field: Field): boolean {
	return field.control === 'textarea' || field.multiline === true
}
