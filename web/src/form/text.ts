// Text of one or several lines, numbers included: a number is text with a
// keyboard of its own, since type=number loses what it cannot parse.

import { el, uid } from '../lib/dom'
import { t } from '../lib/text'
import type { Field, Raw } from '../lib/wire'
import { Group, isLong, type Control, type Setting } from './control'

export class TextControl implements Control {
	readonly field: Field
	readonly node: HTMLElement
	readonly #group: Group
	readonly #input: HTMLInputElement | HTMLTextAreaElement
	readonly #count: HTMLElement | null = null
	readonly #spoken: HTMLElement | null = null
	#empty: HTMLInputElement | null = null
	#emptyRow: HTMLElement | null = null
	#timer = 0

	constructor(field: Field, setting: Setting) {
		this.field = field
		const json = field.control === 'json'
		const multi = isLong(field) || json
		const input = multi ? el('textarea', { rows: json ? 5 : 4 }) : el('input', { type: 'text' })
		this.#input = input
		if (json) input.classList.add('code')
		input.setAttribute('autocomplete', field.autocomplete || (field.control === 'email' ? 'email' : 'off'))
		input.dir = json || field.control === 'uri' || field.control === 'email' ? 'ltr' : 'auto'
		const mode = inputMode(field)
		if (mode) input.setAttribute('inputmode', mode)
		if (json || field.control === 'email' || field.control === 'uri' || mode === 'numeric' || mode === 'decimal') {
			input.spellcheck = false
			input.setAttribute('autocapitalize', 'none')
		}
		if (field.required) input.setAttribute('aria-required', 'true')
		if (field.control === 'integer' || field.control === 'number') input.classList.add('short')
		const limit = multi && field.max_length ? field.max_length : 0
		if (limit) {
			this.#count = el('p', { class: 'hint', 'aria-hidden': 'true' })
			this.#spoken = el('p', { class: 'away', role: 'status' })
		}
		const one = [input]
		if (field.empty_allowed && field.required) {
			const id = uid('empty')
			this.#empty = el('input', { type: 'checkbox', id, on: { change: setting.changed } })
			this.#emptyRow = el('div', { class: 'option quiet', hidden: true }, this.#empty, el('label', { for: id }, t('field.send-empty')))
		}
		this.#group = new Group(field, setting, { fieldset: false, described: () => one, invalid: () => one }, input, this.#count, this.#spoken, this.#emptyRow)
		this.node = this.#group.node
		input.id = this.#group.id
		input.addEventListener('input', () => {
			this.#counted(true)
			setting.changed()
		})
		this.#group.describe()
		this.#counted(false)
	}

	// Length counts code points, as JSON Schema does.
	#counted(speak: boolean): void {
		const limit = this.field.max_length
		if (!this.#count || !limit) return
		const used = [...this.#input.value].length
		const text = used > limit ? t('count.over', { n: used - limit }) : t('count.left', { n: limit - used })
		this.#count.textContent = text
		if (!speak) return
		window.clearTimeout(this.#timer)
		this.#timer = window.setTimeout(() => { if (this.#spoken) this.#spoken.textContent = text }, 1_000)
	}

	value(): Raw {
		return this.#input.value === '' && this.#empty?.checked ? { empty: true } : this.#input.value
	}

	set(raw: Raw): void {
		this.#input.value = typeof raw === 'string' ? raw : Array.isArray(raw) ? raw.join('\n') : ''
		if (this.#empty && this.#emptyRow && typeof raw === 'object' && !Array.isArray(raw)) {
			this.#empty.checked = true
			this.#emptyRow.hidden = false
		}
		this.#counted(false)
	}

	problem(): null {
		return null
	}

	target(): HTMLElement {
		return this.#input
	}

	fail(text: string | null): void {
		// Who left it blank is asked whether that is the answer.
		if (text !== null && this.#emptyRow && this.#input.value === '') this.#emptyRow.hidden = false
		this.#group.fail(text)
	}
}

function inputMode(field: Field): string {
	if (field.input_mode) return field.input_mode
	if (field.control === 'number') return 'decimal'
	// A keyboard of digits has no minus sign.
	if (field.control === 'integer') return Number(field.minimum ?? -1) >= 0 ? 'numeric' : ''
	if (field.control === 'email') return 'email'
	if (field.control === 'uri') return 'url'
	return ''
}
