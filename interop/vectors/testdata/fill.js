// Fills a form as a person would, and says what the page makes of it.
'use strict'

// Zones that have an offset at the moments in the vectors.
const zonesOf = {'Z': ['UTC'], '+01:00': ['Europe/Paris'], '+05:45': ['Asia/Katmandu', 'Asia/Kathmandu'], '-08:00': ['America/Los_Angeles']}

const say = (node, type) => node.dispatchEvent(new Event(type, {bubbles: true, composed: true}))

function type(box, text) {
	box.value = text
	say(box, 'input')
}

const parts = (node) => Object.fromEntries([...node.querySelectorAll('input[type=text], select')].map((box) => [box.id.split('-')[0], box]))

function fillDate(at, text) {
	const found = /^([^-]*)-([^-]*)-([^-]*)$/.exec(text)
	type(at.year, found ? found[1] : text)
	type(at.month, found ? found[2] : '')
	type(at.day, found ? found[3] : '')
	return text === '' || found !== null
}

// fill returns false for what nobody can enter there.
function fill(form, control, raw) {
	const {field, node} = control
	switch (field.control) {
	case 'boolean':
	case 'choice': {
		const radios = [...node.querySelectorAll('input[type=radio]')]
		if (raw === '') {
			if (field.required) return !radios.some((radio) => radio.checked)
			radios.at(-1).click()
			return true
		}
		const value = typeof raw === 'string' ? raw : Array.isArray(raw) ? raw[0] : ''
		const radio = (field.required ? radios : radios.slice(0, -1)).find((radio) => radio.value === value)
		radio?.click()
		return radio !== undefined && !(Array.isArray(raw) && raw.length > 1)
	}
	case 'choices': {
		const wanted = new Set(Array.isArray(raw) ? raw : typeof raw === 'string' && raw !== '' ? [raw] : [])
		for (const box of node.querySelectorAll('input[type=checkbox]')) {
			if (box.checked !== wanted.has(box.value)) box.click()
			wanted.delete(box.value)
		}
		return wanted.size === 0
	}
	case 'date': return typeof raw === 'string' && fillDate(parts(node), raw)
	case 'date-time': {
		if (typeof raw !== 'string') return false
		const at = parts(node)
		const [, date, time, offset] = /^(.*?)[Tt](.*?)(Z|z|[+-]\d\d:\d\d)?$/.exec(raw) ?? []
		type(at.time, time ?? '')
		const zone = [...at.zone.options].find((option) => zonesOf[(offset ?? '').toUpperCase()]?.includes(option.value))
		if (zone) {
			at.zone.value = zone.value
			say(at.zone, 'change')
		}
		return fillDate(at, date ?? raw) && (raw === '' || zone !== undefined)
	}
	}
	const box = node.querySelector('textarea, input[type=text]')
	if (Array.isArray(raw)) {
		type(box, raw[0] ?? '')
		return raw.length < 2
	}
	if (typeof raw === 'string') {
		type(box, raw)
		return true
	}
	// "" on purpose is offered once the blank field was refused.
	type(box, '')
	fail(form, field)
	const tick = node.querySelector('input[type=checkbox]')
	if (!tick || tick.closest('[hidden]')) return false
	tick.checked = true
	say(tick, 'change')
	return true
}

function fail(form, field) {
	form.fail([{field: field.name, pointer: '/' + field.name.replaceAll('~', '~0').replaceAll('/', '~1'), code: 'any', text: 'This is wrong.'}])
}

// clears says whether the page takes an error away, once something was typed.
function clears(form, control) {
	fail(form, control.field)
	// Not the box that filters options.
	const input = control.node.querySelector('input[type=radio], input[type=checkbox]:not(.quiet *), textarea') ?? control.node.querySelector('input')
	if (!input) return false // a choice of nothing
	say(input, input.type === 'radio' || input.type === 'checkbox' ? 'change' : 'input')
	return !control.node.classList.contains('failed')
}

const entry = (input, name) => Object.hasOwn(input, name) ? input[name] : ''

// fillAll fills a fresh form with each input. Texts in and out, since a field may be
// called __proto__.
function fillAll(viewJSON, inputsJSON) {
	const view = JSON.parse(viewJSON)
	return JSON.stringify(JSON.parse(inputsJSON).map((typed) => {
		const form = testOnlyForm(view)
		const entered = form.controls.map((control) => fill(form, control, entry(typed, control.field.name)))
		const problems = form.controls.map((control) => control.problem() ?? '')
		const cleared = form.controls.map((control) => clears(form, control))
		const input = form.input()
		return {input, entered, problems, cleared, again: testOnlyForm(view, {draft: input}).input()}
	}))
}

// judgeAll types each text into one field and says what the page makes of it.
function judgeAll(viewJSON, index, textsJSON) {
	const form = testOnlyForm(JSON.parse(viewJSON))
	const control = form.controls[index]
	return JSON.stringify(JSON.parse(textsJSON).map((text) => {
		fill(form, control, text)
		return {value: control.value(), cleared: clears(form, control)}
	}))
}
