/** Replaces what differs from run to run by placeholders; equal values get equal placeholders within a scenario. */
import { type Fields, isFields, type Json, sortKeyOf } from './exact-json.ts'
import type { Answer, Step } from './scenario.ts'
import { lookUp, picked } from './value-paths.ts'

/** A timestamp closer to now than this was made by the server; the scenario gave the others. */
const nearNowMs = 3 * 86_400_000
const timeSource = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?(?:Z|[+-]\\d\\d:\\d\\d)'
const times = new RegExp(timeSource, 'g')
const wholeTime = new RegExp(`^${timeSource}$`)
const uids = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g
const token = /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/
/** The service range that the server must have been given. */
const serviceIps = /\b10\.96\.\d{1,3}\.\d{1,3}\b/g
const firstIps = ['10.96.0.0', '10.96.0.1']
const age = /^(?=\d)(\d+y)?(\d+d)?(\d+h)?(\d+m)?(\d+s)?$/
const ageColumns = ['Age', 'Last Seen', 'First Seen', 'Last Schedule']
const volatile: readonly [RegExp, string][] = [
  [/in record \(\d+\)/g, 'in record (<rv>)'],
  [/(too old resource version: \d+) \(\d+\)/g, '$1 (<rv>)'],
  [/(Too large resource version: \d+, current: )\d+/g, '$1<rv>'],
  [/in precondition \(\d+\)/g, 'in precondition (<rv>)'],
  [/resourceVersion: "\d+"/g, 'resourceVersion: "<rv>"'],
  [/"\{\\".*\}"(?=: )/g, '"<object>"'],
  [/kube-api-access-[a-z0-9]{5}\b/g, 'kube-api-access-<suffix>'],
]
/** Always the server's own, of whatever age. */
const stamps = ['creationTimestamp', 'deletionTimestamp', 'time']
const portKeys = ['nodePort', 'healthCheckNodePort']

export class Normalizer {
  /** Placeholder and the text it stands for, the first one first. */
  #replaced: [string, string][]
  #seen = { uid: new Map<string, number>(), rv: new Map<string, number>() }
  /** Everything the scenario has sent, to tell chosen addresses from allocated ones. */
  given = ''

  constructor(names: Readonly<Record<string, string>>) {
    this.#replaced = Object.entries(names).sort(([, one], [, other]) => other.length - one.length)
  }

  /** What is called with nothing forgets all that was seen since. */
  mark(): () => void {
    const [uid, rv, replaced] = [new Map(this.#seen.uid), new Map(this.#seen.rv), [...this.#replaced]]
    return () => {
      this.#seen = { uid, rv }
      this.#replaced = replaced
    }
  }

  answer(status: number, headers: Record<string, string | string[]>, body: Json, step: Step): Answer {
    const answer: Answer = { status, headers: {} }
    for (const [name, value] of Object.entries(headers))
      answer.headers = { ...answer.headers, [name]: Array.isArray(value) ? value.map((each) => this.text(each)) : this.text(value) }
    if (step.compare === 'status') return answer
    const part = picked(body, step.pick ?? []) ?? null
    if (step.compare === 'keys' && isFields(part)) {
      answer.body = Object.fromEntries(Object.keys(part).map((key) => [key, '<any>']))
      return answer
    }
    answer.body = this.tree(part)
    for (const path of step.unordered ?? []) {
      const items = lookUp(answer.body, path)
      if (Array.isArray(items)) items.sort(bySortKey((item) => item))
    }
    return answer
  }

  text(value: string): string {
    // Before names and ports: a uid, or part of a second, may have the digits of a port in it.
    let text = value.replace(uids, (uid) => this.#label('uid', uid))
    text = text.replace(times, (moment) => (isNearNow(moment) ? '<time>' : moment))
    for (const [placeholder, name] of this.#replaced) text = text.replaceAll(name, () => placeholder)
    text = text.replace(serviceIps, (ip) => (this.given.includes(ip) || firstIps.includes(ip) ? ip : '<ip>'))
    for (const [pattern, replacement] of volatile) text = text.replace(pattern, replacement)
    return token.test(text) ? '<token>' : text
  }

  tree(value: Json, key = '', parent = ''): Json {
    if (Array.isArray(value)) return value.map((item) => this.tree(item, key, parent))
    if (isFields(value)) return this.#object(value, key)
    if (typeof value === 'string') {
      if (key === 'resourceVersion' && parent === 'metadata' && /^\d+$/.test(value) && value !== '0') return this.#label('rv', value)
      if (stamps.includes(key) && wholeTime.test(value)) return '<time>'
      if (key === 'continue' && parent === 'metadata' && value !== '') return '<continue>'
      return this.text(value)
    }
    if (portKeys.includes(key) && typeof value === 'number' && value !== 0 && !new RegExp(`\\b${value}\\b`).test(this.given)) {
      this.#replaced.push(['<port>', String(value)]) // messages repeat it
      return '<port>'
    }
    return value
  }

  #label(family: 'uid' | 'rv', value: string): string {
    const seen = this.#seen[family]
    const number = seen.get(value) ?? seen.size + 1
    seen.set(value, number)
    return `<${family}:${number}>`
  }

  #object(given: Fields, key: string): Json {
    let value = given
    const metadata = isFields(value['metadata']) ? value['metadata'] : undefined
    const { generateName = '', name = '' } = metadata ?? {}
    if (typeof generateName === 'string' && generateName !== '' && String(name).startsWith(generateName)) {
      if (String(name).length === generateName.length + 5) this.#replaced.unshift([`${generateName}<suffix>`, String(name)])
    }
    const isList = metadata !== undefined && ('items' in value || value['kind'] === 'Table')
    if (isList && metadata['resourceVersion']) value = { ...value, metadata: { ...metadata, resourceVersion: '<rv>' } }
    if (value['kind'] === 'Table' && 'rows' in value) value = this.#table(value)
    if (Array.isArray(value['managedFields'])) {
      // Which second they were written in decides their order.
      const entries = [...(value['managedFields'] as Fields[])].sort(
        bySortKey((entry) => [
          entry['operation'] ?? null,
          entry['manager'] ?? null,
          entry['subresource'] ?? '',
          entry['apiVersion'] ?? null,
          entry['fieldsV1'] ?? null,
        ]),
      )
      value = { ...value, managedFields: entries }
    }
    const result: Fields = {}
    // In sorted order, so that the numbers of placeholders do not depend on the order of keys in the answer.
    for (const field of Object.keys(value).sort()) result[this.text(field)] = this.tree(value[field] ?? null, field, key)
    return result
  }

  #table(table: Fields): Fields {
    const columns = columnsOf(table)
    const rows = ((table['rows'] ?? []) as Fields[]).map((row) => {
      const cells = ((row['cells'] ?? []) as Json[]).slice(0, columns.length)
      return { ...row, cells: cells.map((cell, index) => this.#cell(columns[index] ?? '', cell)) }
    })
    const { [columnsOfFirstEvent]: _, ...rest } = table
    return { ...rest, rows }
  }

  #cell(column: string, value: Json): Json {
    if (typeof value !== 'string') return value
    if (age.test(value) && (ageColumns.includes(column) || (column === 'Duration' && /[yd]/.test(value)))) return '<age>'
    return value
      .replace(/:(\d{5})\//g, (text, port: string) => (this.given.includes(port) ? text : ':<port>/'))
      .replace(/\([0-9ydhms]+ ago\)/g, '(<age> ago)')
  }
}

/** Only the first table of a watch names its columns; whoever reads the events hands them on under this name. */
export const columnsOfFirstEvent = 'columns of the first event'

/** The names of a table's columns, or those that were handed on to it. */
export function columnsOf(table: Fields): string[] {
  const own = ((table['columnDefinitions'] ?? []) as Fields[]).map((column) => String(column['name']))
  return own.length > 0 ? own : ((table[columnsOfFirstEvent] ?? []) as string[])
}

function isNearNow(text: string): boolean {
  return Math.abs(Date.parse(text) - Date.now()) < nearNowMs
}

function bySortKey<T extends Json>(keyOf: (item: T) => Json): (one: T, other: T) => number {
  return (one, other) => {
    const [left, right] = [sortKeyOf(keyOf(one)), sortKeyOf(keyOf(other))]
    return left < right ? -1 : left > right ? 1 : 0
  }
}
