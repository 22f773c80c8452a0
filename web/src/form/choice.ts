// Radios and checkboxes. Many options get a filter box and a scrolling list,
// never a select: what is chosen stays in sight, and every option has a name.

import { el, uid, foreign, type Child } from '../lib/dom'
import { t } from '../lib/text'
import type { Field, Option, Raw } from '../lib/wire'
import { Group, type Control, type Setting } from './control'

type Row = { option: Option; input: HTMLInputElement; node: HTMLElement; text: string }

const filterFrom = 11 // options

// What an optional question gets when nothing is chosen: the property is left out.
const noAnswer: Option = { value: '', label: t('choice.none') }

/** ChoiceControl is one of some options (boolean included) or several of them. */
export class ChoiceControl implements Control {
	readonly field: Field
	readonly node: HTMLElement
	readonly #group: Group
	readonly #rows: Row[]
	readonly #several: boolean
	#filter: HTMLElement | null = null

	constructor(field: Field, setting: Setting) {
		this.field = field
		this.#several = field.control === 'choices'
		const options = optionsOf(field)
		const name = uid('choice')
		this.#rows = options.map((option) => this.#row(option, name, setting))
		const list: Child = field.filter || options.length >= filterFrom
			? this.#filtered()
			: el('div', { class: 'options' }, this.#rows.map((row) => row.node))
		const self = (): readonly HTMLElement[] => [this.#group.node]
		const boxes = this.#rows.map((row) => row.input)
		this.#group = new Group(field, setting, {
			fieldset: true,
			radios: !this.#several,
			described: () => this.#group ? self() : [],
			invalid: () => this.#several ? boxes : self(),
		}, list)
		this.node = this.#group.node
		if (!this.#several && field.required) this.node.setAttribute('aria-required', 'true')
		this.#group.describe()
		if (!field.required && !this.#several) this.set('')
	}

	#row(option: Option, name: string, setting: Setting): Row {
		const id = uid('option')
		const input = el('input', { type: this.#several ? 'checkbox' : 'radio', id, name, value: option.value, on: { change: setting.changed } })
		const label = option.label || option.value || t('choice.empty')
		const shown: Child[] = [foreign('span', label)]
		if (option.show_value && option.value !== label && option.value !== '') shown.push(' ', el('code', { class: 'value', dir: 'auto' }, option.value))
		if (option.hint) shown.push(foreign('span', option.hint, 'option-hint'))
		const node = el('div', { class: 'option' }, input, el('label', { for: id }, shown))
		return { option, input, node, text: fold(`${label} ${option.value} ${option.hint ?? ''}`) }
	}

	#filtered(): Child {
		const id = uid('filter')
		const status = el('p', { class: 'hint', role: 'status' })
		// "No answer" is no option: it comes first and is always in sight.
		const rows = this.#rows.filter((row) => row.option !== noAnswer)
		const list = el('div', { class: 'options scroll' }, rows.map((row) => row.node))
		const total = rows.length
		let timer = 0
		const box = el('input', {
			type: 'text', id, autocomplete: 'off', spellcheck: false, on: {
				input: () => {
					const words = fold(box.value).split(/\s+/).filter(Boolean)
					let shown = 0
					for (const row of rows) {
						const fits = row.input.checked || words.every((word) => row.text.includes(word))
						row.node.hidden = !fits
						if (fits) shown++
					}
					window.clearTimeout(timer)
					timer = window.setTimeout(() => { status.textContent = t('choice.shown', { n: shown, total }) }, 300)
				},
				// Enter in the filter narrows the list; it must not send the form.
				keydown: (event) => { if (event.key === 'Enter') event.preventDefault() },
			},
		})
		status.textContent = t('choice.shown', { n: total, total })
		this.#filter = box
		return [el('div', { class: 'filter' }, el('label', { for: id }, t('choice.filter')), box, status), this.#rows.filter((row) => !rows.includes(row)).map((row) => row.node), list]
	}

	value(): Raw {
		const chosen = this.#rows.filter((row) => row.input.checked)
		if (this.#several) return chosen.map((row) => row.option.value)
		const one = chosen[0]
		if (!one) return ''
		// An option whose value is "" is an answer.
		return one.option.value === '' && one.option !== noAnswer ? { empty: true } : one.option.value
	}

	set(raw: Raw): void {
		const wanted = new Set(typeof raw === 'string' ? [raw] : Array.isArray(raw) ? raw : [''])
		let found = false
		const none = raw === ''
		for (const row of this.#rows) {
			// Two options of one value: the first is as good as the second.
			const fits = row.option === noAnswer ? none : wanted.has(row.option.value) && !none
			row.input.checked = fits && (this.#several || !found)
			found ||= row.input.checked
		}
	}

	problem(): null {
		return null
	}

	// What the filter has taken out of sight takes no focus.
	target(): HTMLElement {
		const shown = this.#rows.filter((row) => !row.node.hidden)
		return shown.find((row) => row.input.checked && !this.#several)?.input ?? shown[0]?.input ?? this.#filter ?? this.node
	}

	fail(text: string | null): void {
		this.#group.fail(text)
	}
}

function optionsOf(field: Field): Option[] {
	const options: Option[] = field.control === 'boolean' && !field.options?.length
		? [{ value: 'true', label: t('choice.yes') }, { value: 'false', label: t('choice.no') }]
		: [...field.options ?? []]
	if (field.control !== 'choices' && !field.required) options.push(noAnswer)
	return options
}

// fold makes the filter forgiving about case and accents.
function fold(text: string): string {
	return text.normalize('NFKD').replace(/\p{M}/gu, '').toLocaleLowerCase()
}
