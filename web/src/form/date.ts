// Dates as three inputs, and moments as a date, a 24-hour time and a zone. A
// calendar pop-up is of no help for a birthday and a trap for a keyboard.

import { el, uid, type Child } from '../lib/dom'
import { locale, t, type Key } from '../lib/text'
import type { Field, Raw } from '../lib/wire'
import { Group, type Control, type Setting } from './control'
import { offsetAt, offsetsOf, offsetText, ownZone, two, zones, type Local } from './zone'

type Part = 'day' | 'month' | 'year'

const partKeys: { readonly [P in Part]: Key } = { day: 'date.day', month: 'date.month', year: 'date.year' }

// The order in which people of this locale write a date.
function partOrder(): Part[] {
	const parts = new Intl.DateTimeFormat(navigator.language || locale, { year: 'numeric', month: 'numeric', day: 'numeric', calendar: 'gregory' })
		.formatToParts(0).map((part) => part.type).filter((type): type is Part => type in partKeys)
	return parts.length === 3 ? parts : ['day', 'month', 'year']
}

// monthNumber reads 3, 03, mar and March, also in the browser's language.
function monthNumber(text: string): number | null {
	if (/^\d{1,2}$/.test(text)) return Number(text)
	const wanted = text.toLocaleLowerCase().replace(/\.$/, '')
	if ([...wanted].length < 3) return null
	for (const one of [navigator.language || locale, locale, 'en']) {
		const names = new Intl.DateTimeFormat(one, { month: 'long', timeZone: 'UTC' })
		for (let month = 0; month < 12; month++) {
			if (names.format(Date.UTC(2000, month, 1)).toLocaleLowerCase().startsWith(wanted)) return month + 1
		}
	}
	return null
}

// DateInputs are the three inputs, without a legend of their own.
class DateInputs {
	readonly node: HTMLElement
	readonly inputs: HTMLInputElement[] = []
	readonly #part: { [P in Part]: HTMLInputElement }

	constructor(field: Field, changed: () => void) {
		const birthday = field.autocomplete === 'bday'
		const make = (part: Part): HTMLInputElement => el('input', {
			type: 'text', id: uid(part), class: part === 'year' ? 'w4' : part === 'month' ? 'w3' : 'w2',
			autocomplete: birthday ? `bday-${part}` : 'off', spellcheck: false, on: { input: changed },
			...(part === 'month' ? {} : { inputmode: 'numeric', inputMode: 'numeric' }),
		})
		this.#part = { day: make('day'), month: make('month'), year: make('year') }
		this.node = el('div', { class: 'parts' }, partOrder().map((part) => {
			const input = this.#part[part]
			this.inputs.push(input)
			return el('div', { class: 'part' }, el('label', { for: input.id }, t(partKeys[part])), input)
		}))
	}

	get blank(): boolean {
		return this.inputs.every((input) => input.value.trim() === '')
	}

	/** numbers is the date if its parts are a real one. */
	numbers(): { year: number; month: number; day: number } | null {
		const year = this.#part.year.value.trim()
		const month = monthNumber(this.#part.month.value.trim())
		const day = this.#part.day.value.trim()
		if (!/^\d{4}$/.test(year) || !/^\d{1,2}$/.test(day) || month === null) return null
		const date = new Date(0)
		date.setUTCFullYear(Number(year), month - 1, Number(day))
		if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== Number(day)) return null
		return { year: Number(year), month, day: Number(day) }
	}

	/** text is YYYY-MM-DD, or what was typed in that order when it is no date. */
	text(): string {
		if (this.blank) return ''
		const date = this.numbers()
		if (date) return `${String(date.year).padStart(4, '0')}-${two(date.month)}-${two(date.day)}`
		return [this.#part.year, this.#part.month, this.#part.day].map((input) => input.value.trim()).join('-')
	}

	set(text: string): void {
		const [, year = '', month = '', day = ''] = /^([^-]*)-([^-]*)-(.*)$/.exec(text) ?? []
		const bare = (part: string): string => /^0\d$/.test(part) ? part.slice(1) : part
		this.#part.year.value = year || month || day ? year : text
		this.#part.month.value = bare(month)
		this.#part.day.value = bare(day)
	}

	/** wrong is the first part that cannot be right. */
	wrong(): HTMLInputElement {
		const { day, month, year } = this.#part
		const bad = (input: HTMLInputElement): boolean => {
			const text = input.value.trim()
			if (input === year) return !/^\d{4}$/.test(text)
			const n = input === month ? monthNumber(text) : /^\d{1,2}$/.test(text) ? Number(text) : null
			return n === null || n < 1 || n > (input === month ? 12 : 31)
		}
		return this.inputs.find(bad) ?? (this.numbers() ? this.inputs[0] : day) ?? day
	}
}

export class DateControl implements Control {
	readonly field: Field
	readonly node: HTMLElement
	readonly #date: DateInputs
	readonly #group: Group

	constructor(field: Field, setting: Setting) {
		this.field = field
		this.#date = new DateInputs(field, setting.changed)
		const example = uid('example')
		this.#group = new Group(field, setting, { fieldset: true, described: () => this.#group ? [this.#group.node] : [], invalid: () => this.#date.inputs },
			el('p', { class: 'hint', id: example }, t('date.example', { example: exampleDate() })), this.#date.node)
		this.node = this.#group.node
		this.#example = [example]
		this.#group.describe(this.#example)
	}

	readonly #example: readonly string[]

	value(): Raw {
		return this.#date.text()
	}

	set(raw: Raw): void {
		this.#date.set(typeof raw === 'string' ? raw : '')
	}

	problem(): string | null {
		return this.#date.blank || this.#date.numbers() ? null : t('date.unreal', { label: this.field.label || this.field.name })
	}

	target(): HTMLElement {
		return this.#date.wrong()
	}

	fail(text: string | null): void {
		this.#group.fail(text, this.#example)
	}
}

// A day above 12, so that nobody takes it for a month.
function exampleDate(): string {
	const parts: { readonly [P in Part]: string } = { day: '27', month: '3', year: '2027' }
	return partOrder().map((part) => parts[part]).join(' ')
}

// Hour, minute, second, and the fraction that an earlier value may have.
const clock = /^(\d{1,2})[:.](\d{2})(?:[:.](\d{2})(\.\d+)?)?$/

/** MomentControl asks for a date-time and shows exactly what will be sent. */
export class MomentControl implements Control {
	readonly field: Field
	readonly node: HTMLElement
	readonly #date: DateInputs
	readonly #time: HTMLInputElement
	readonly #zone: HTMLSelectElement
	readonly #echo: HTMLElement
	readonly #twice: HTMLElement
	readonly #group: Group
	readonly #changed: () => void
	readonly #inputs: readonly HTMLElement[]
	#chosenOffset: number | null = null
	#twiceFor = ''

	constructor(field: Field, setting: Setting) {
		this.field = field
		this.#changed = setting.changed
		const changed = (): void => {
			this.#update()
			setting.changed()
		}
		this.#date = new DateInputs(field, changed)
		this.#time = el('input', { type: 'text', id: uid('time'), class: 'w5', autocomplete: 'off', spellcheck: false, on: { input: changed } })
		const own = ownZone()
		this.#zone = el('select', { id: uid('zone'), on: { change: changed } },
			el('option', { value: own, selected: true }, t('date.own', { zone: own, offset: offsetText(offsetAt(own, Date.now())) })),
			zones().filter((zone) => zone !== own).map((zone) => el('option', { value: zone }, zone)))
		this.#echo = el('p', { class: 'hint echo', id: uid('echo') })
		this.#twice = el('div', { class: 'twice' })
		this.#inputs = [...this.#date.inputs, this.#time]
		const rows: Child[] = [
			this.#date.node,
			el('div', { class: 'parts' },
				el('div', { class: 'part' }, el('label', { for: this.#time.id }, t('date.time')), this.#time),
				el('div', { class: 'part wide' }, el('label', { for: this.#zone.id }, t('date.zone')), this.#zone)),
			this.#twice, this.#echo,
		]
		this.#group = new Group(field, setting, { fieldset: true, described: () => this.#group ? [this.#group.node] : [], invalid: () => this.#inputs }, rows)
		this.node = this.#group.node
		this.#group.describe()
		this.#update()
	}

	#local(): Local | null {
		const date = this.#date.numbers()
		const time = clock.exec(this.#time.value.trim())
		if (!date || !time) return null
		const local = { ...date, hour: Number(time[1]), minute: Number(time[2]), second: Number(time[3] ?? 0) }
		return local.hour < 24 && local.minute < 60 && local.second < 60 ? local : null
	}

	get #blank(): boolean {
		return this.#date.blank && this.#time.value.trim() === ''
	}

	#offset(local: Local): number | null {
		const offsets = offsetsOf(this.#zone.value, local)
		if (offsets.length === 2) return offsets.includes(this.#chosenOffset ?? NaN) ? this.#chosenOffset : null
		return offsets[0] ?? null
	}

	value(): Raw {
		if (this.#blank) return ''
		const local = this.#local()
		const offset = local ? this.#offset(local) : null
		if (!local || offset === null) return `${this.#date.text()}T${this.#time.value.trim()}`
		return `${this.#date.text()}T${two(local.hour)}:${two(local.minute)}:${two(local.second)}${clock.exec(this.#time.value.trim())?.[4] ?? ''}${offset === 0 && this.#zone.value === 'UTC' ? 'Z' : offsetText(offset)}`
	}

	set(raw: Raw): void {
		const text = typeof raw === 'string' ? raw : ''
		const [, date = '', time = '', offset = ''] = /^(.*?)(?:[Tt ](.*?)([Zz]|[+-]\d\d:\d\d)?)?$/.exec(text) ?? []
		this.#date.set(date)
		const bare = time.replace(/\.0+$/, '')
		this.#time.value = /^\d\d:\d\d:00$/.test(bare) ? bare.slice(0, 5) : bare
		if (offset) this.#zoneOf(offset.toUpperCase() === 'Z' ? '+00:00' : offset)
		this.#update()
	}

	// A value that came with an offset is shown in that offset.
	#zoneOf(offset: string): void {
		const minutes = (offset.startsWith('-') ? -1 : 1) * (Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6)))
		const local = this.#local()
		const own = ownZone()
		if (local && offsetsOf(own, local).includes(minutes)) {
			this.#chosenOffset = minutes
			this.#zone.value = own
			return
		}
		const zone = minutes === 0 ? 'UTC' : `UTC${offset}`
		if (![...this.#zone.options].some((option) => option.value === zone)) this.#zone.prepend(el('option', { value: zone }, zone))
		this.#zone.value = zone
	}

	#update(): void {
		const local = this.#local()
		const offsets = local ? offsetsOf(this.#zone.value, local) : []
		this.#askTwice(offsets)
		const ready = local !== null && this.#offset(local) !== null
		this.#echo.textContent = ready ? t('date.echo', { value: String(this.value()) }) : ''
		this.#echo.hidden = !ready
	}

	// Clocks go back over this hour: the person says which of the two is meant.
	#askTwice(offsets: readonly number[]): void {
		const key = offsets.length === 2 ? offsets.join() : ''
		if (key === this.#twiceFor) return
		this.#twiceFor = key
		this.#twice.replaceChildren()
		if (offsets.length !== 2) return
		const name = uid('twice')
		this.#twice.append(el('fieldset', { class: 'field' }, el('legend', null, t('date.twice')), offsets.map((offset, i) => {
			const id = uid('offset')
			const input = el('input', {
				type: 'radio', id, name, checked: offset === this.#chosenOffset, on: {
					change: () => {
						this.#chosenOffset = offset
						this.#update()
						this.#changed()
					},
				},
			})
			return el('div', { class: 'option' }, input, el('label', { for: id }, t(i === 0 ? 'date.first' : 'date.second', { offset: offsetText(offset) })))
		})))
	}

	problem(): string | null {
		if (this.#blank) return null
		const label = this.field.label || this.field.name
		if (!this.#date.numbers()) return t('date.unreal', { label })
		const local = this.#local()
		if (!local) return t('date.untimed', { label })
		const offsets = offsetsOf(this.#zone.value, local)
		if (offsets.length === 0) return t('date.gap', { label, zone: this.#zone.value })
		return this.#offset(local) === null ? t('date.which', { label }) : null
	}

	target(): HTMLElement {
		if (!this.#date.numbers()) return this.#date.wrong()
		return this.#twice.querySelector('input') ?? this.#time
	}

	fail(text: string | null): void {
		this.#group.fail(text, [this.#echo.id])
	}
}
