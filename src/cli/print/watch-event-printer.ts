import { jsonText } from '#api/codec/json-text.ts'
import { yamlText } from '#api/codec/yaml.ts'
import type { ApiObject } from '#cli/call.ts'
import { sortedKeys } from '#cli/template/go-values.ts'
import { keepOrder, type Printer } from './printer.ts'

type Event = { type: string; object: ApiObject }

/** What happened and to which object, as one document; of JSON it is a line each. Managed fields are shown, as kubectl does. */
export function watchEventPrinter(format: string, printer: Printer): (event: Event) => string {
  let count = 0
  return ({ type, object }) => {
    const event = keepOrder({ type, object: sortedKeys(object) }) as unknown as ApiObject
    if (format === 'json') return `${jsonText(event)}\n`
    if (format === 'yaml') return `${count++ > 0 ? '---\n' : ''}${yamlText(event)}`
    return printer(format === 'name' ? object : event)
  }
}
