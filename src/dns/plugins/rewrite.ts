import { RE2JS } from 're2js'
import type { Directive } from '#dns/corefile/parse-corefile.ts'
import type { DnsHandler, DnsRequest, DnsResponse } from '#dns/handler.ts'
import type { DnsPlugin } from '#dns/plugin.ts'
import type { DnsRecord } from '#wire/dns/dns-message.ts'
import { fullName } from '#wire/dns/dns-name.ts'
import { recordTypeNumber } from '#wire/dns/record-type.ts'

type Rule = {
  /** The rules after it are looked at too. */
  continues: boolean
  /** Undefined where the rule is not for this question. */
  rewritten(request: DnsRequest): DnsRequest | undefined
}

/** Asks for another name, or another type, than the client did. The client sees the name it asked for. */
export const rewrite: DnsPlugin = {
  name: 'rewrite',
  mayRepeat: true,
  setup(directives) {
    const rules = directives.map(readRule)
    return {
      handle: (next: DnsHandler) => (request) => {
        let changed = request
        for (const rule of rules) {
          const result = rule.rewritten(changed)
          if (result === undefined) continue
          changed = result
          if (!rule.continues) break
        }
        if (changed === request) return next(request)
        const response = next(changed)
        return response instanceof Promise
          ? response.then((each) => restored(each, changed, request))
          : restored(response, changed, request)
      },
    }
  },
}

function readRule({ args, line, block }: Directive): Rule {
  const mode = args[0] === 'stop' || args[0] === 'continue' ? args[0] : 'stop'
  const [field = '', ...rest] = args[0] === mode ? args.slice(1) : args
  if (block.length > 0) throw new Error(`line ${line}: rewrite: a block is not understood; put the rule on one line`)
  if (field === 'name') return { continues: mode === 'continue', rewritten: nameRule(rest, line) }
  if (field === 'type') {
    const [from, to] = rest.map(recordTypeNumber)
    if (from === undefined || to === undefined) throw new Error(`line ${line}: rewrite type: ${rest.join(' ')} are no two types`)
    return { continues: mode === 'continue', rewritten: (request) => (request.type === from ? { ...request, type: to } : undefined) }
  }
  throw new Error(`line ${line}: rewrite: ${field} is not rewritten here, name and type are`)
}

const kinds = ['exact', 'prefix', 'suffix', 'substring', 'regex'] as const

function nameRule(args: readonly string[], line: number): Rule['rewritten'] {
  const kind = kinds.find((each) => each === args[0]) ?? 'exact'
  const [from = '', to = '', ...more] = kinds.some((each) => each === args[0]) ? args.slice(1) : args
  if (to === '' || (more.length > 0 && more.join(' ') !== 'answer auto')) {
    throw new Error(`line ${line}: rewrite name wants [exact|prefix|suffix|substring|regex] FROM TO [answer auto]`)
  }
  const change = nameChange(kind, from.toLowerCase(), to.toLowerCase(), from, line)
  return (request) => {
    const name = change(request.name)
    return name === undefined ? undefined : { ...request, name: fullName(name), asked: fullName(name) }
  }
}

function nameChange(
  kind: (typeof kinds)[number],
  from: string,
  to: string,
  written: string,
  line: number,
): (name: string) => string | undefined {
  if (kind === 'exact') return (name) => (name === fullName(from) ? to : undefined)
  if (kind === 'prefix') return (name) => (name.startsWith(from) ? to + name.slice(from.length) : undefined)
  if (kind === 'suffix') {
    const end = fullName(from)
    return (name) => (name.endsWith(end) ? name.slice(0, -end.length) + fullName(to) : undefined)
  }
  if (kind === 'substring') return (name) => (name.includes(from) ? name.replaceAll(from, to) : undefined)
  let pattern: RE2JS
  try {
    pattern = RE2JS.compile(written)
  } catch (error) {
    throw new Error(`line ${line}: rewrite name regex: ${written}: ${error instanceof Error ? error.message : error}`)
  }
  return (name) => {
    const matcher = pattern.matcher(name)
    if (!matcher.find()) return undefined
    return to.replace(/\{(\d)\}/g, (_, group: string) => matcher.group(Number(group)) ?? '')
  }
}

/** Clients drop answers about names they did not ask for. */
function restored(response: DnsResponse, changed: DnsRequest, request: DnsRequest): DnsResponse {
  if (changed.name === request.name) return response
  const back = (records: readonly DnsRecord[]) =>
    records.map((record) => (record.name.toLowerCase() === changed.name ? { ...record, name: request.asked } : record))
  return { ...response, answers: back(response.answers), additional: back(response.additional) }
}
