import { RE2JS } from 're2js'
import { errorMessage } from '#base/error-message.ts'
import type { Directive } from '#dns/corefile/parse-corefile.ts'
import { zoneName } from '#dns/corefile/zone-address.ts'
import { type DnsRequest, dnsResponse } from '#dns/handler.ts'
import { type DnsPlugin, wrongOption } from '#dns/plugin.ts'
import { parseRecord } from '#dns/plugins/record-text.ts'
import type { DnsRecord } from '#wire/dns/dns-message.ts'
import { isWithin, zoneOf } from '#wire/dns/dns-name.ts'
import { internetClass, rcodes, recordTypeName, recordTypeNumber } from '#wire/dns/record-type.ts'

type Values = { zone: string; request: DnsRequest; match: (index: number) => string; group: (name: string) => string }
type Text = (values: Values) => string

type Template = {
  zones: readonly string[]
  /** Undefined: any. */
  type: number | undefined
  patterns: readonly RE2JS[]
  answer: readonly Text[]
  additional: readonly Text[]
  authority: readonly Text[]
  rcode: number
  fallsThrough(name: string): boolean
}

/** Answers that are made of the question: names by patterns, records by texts with places for their parts. */
export const template: DnsPlugin = {
  name: 'template',
  mayRepeat: true,
  setup(directives, { zones }) {
    const templates = directives.map((directive) => readTemplate(directive, zones))
    return {
      handle: (next) => (request) => {
        for (const one of templates) {
          const zone = zoneOf(request.name, one.zones)
          if (zone === undefined || (one.type !== undefined && one.type !== request.type)) continue
          const matcher = one.patterns.map((pattern) => pattern.matcher(request.name)).find((each) => each.find())
          if (matcher === undefined) {
            if (one.fallsThrough(request.name)) continue
            return dnsResponse({ rcode: rcodes.SERVFAIL })
          }
          const values: Values = {
            ...{ zone, request },
            match: (index) => (index <= matcher.groupCount() ? (matcher.group(index) ?? '') : ''),
            group: (name) => matcher.group(name) ?? '',
          }
          const records = (texts: readonly Text[]): DnsRecord[] => texts.map((text) => parseRecord(text(values)))
          return dnsResponse({
            ...{ rcode: one.rcode, isAuthoritative: true, answers: records(one.answer) },
            ...{ additional: records(one.additional), authority: records(one.authority) },
          })
        }
        return next(request)
      },
    }
  },
}

function readTemplate({ args, block, line }: Directive, ownZones: readonly string[]): Template {
  const [className = '', typeName = '', ...zones] = args
  if (!['IN', 'ANY'].includes(className.toUpperCase()))
    throw new Error(`line ${line}: template: ${className || 'nothing'} is not a valid class; IN and ANY are`)
  const type = typeName.toUpperCase() === 'ANY' ? undefined : recordTypeNumber(typeName)
  if (typeName.toUpperCase() !== 'ANY' && type === undefined)
    throw new Error(`line ${line}: template: ${typeName || 'nothing'} is not a valid type of records`)
  const own = zones.length === 0 ? [...ownZones] : zones.map((zone) => zoneName(zone, line))
  let through: readonly string[] = []
  const read: { patterns: RE2JS[]; answer: Text[]; additional: Text[]; authority: Text[]; rcode: number } = {
    ...{ patterns: [], answer: [], additional: [], authority: [], rcode: rcodes.NOERROR },
  }
  for (const option of block) {
    const { name } = option
    if (name === 'match') read.patterns.push(...option.args.map((pattern) => compiled(pattern, option.line)))
    else if (name === 'answer' || name === 'additional' || name === 'authority') {
      read[name].push(...option.args.map((text) => textOf(text, option.line)))
    } else if (name === 'rcode') read.rcode = rcodeOf(option)
    else if (name === 'fallthrough') through = option.args.length === 0 ? ['.'] : option.args.map((zone) => zoneName(zone, option.line))
    else throw wrongOption('template', option)
  }
  if (read.patterns.length === 0) read.patterns.push(RE2JS.compile('.*'))
  return { ...read, zones: own, type, fallsThrough: (name) => through.some((zone) => isWithin(name, zone)) }
}

function compiled(pattern: string, line: number): RE2JS {
  try {
    return RE2JS.compile(pattern)
  } catch (error) {
    throw new Error(`line ${line}: template: ${pattern}: ${errorMessage(error)}`)
  }
}

function rcodeOf({ args: [name = ''], line }: Directive): number {
  const rcode = (rcodes as Record<string, number>)[name.toUpperCase()]
  if (rcode === undefined) throw new Error(`line ${line}: template: ${name || 'nothing'} is not a valid code of an answer`)
  return rcode
}

/** Go's templates, as far as records need them: a value between braces, nothing that decides or repeats. */
function textOf(source: string, line: number): Text {
  // Braces that nobody closes go on to the end of the line, so that they are looked for once.
  const parts = source.split(/(\{\{.*?(?:\}\}|$))/m).map((part): Text => {
    if (!part.startsWith('{{') || !part.endsWith('}}')) return () => part
    const inner = part.slice(2, -2).replace(/^-/, '').replace(/-$/, '').trim()
    const [, number] = /^index \.Match (\d+)$/.exec(inner) ?? []
    if (number !== undefined) return ({ match }) => match(Number(number))
    const [, group] = /^\.Group\.(\w+)$/.exec(inner) ?? []
    if (group !== undefined) return (values) => values.group(group)
    const value = plainValues[inner]
    if (value === undefined)
      throw new Error(
        `line ${line}: template: {{ ${inner} }} is not understood; ${Object.keys(plainValues).join(', ')}, .Group.NAME and index .Match N are`,
      )
    return value
  })
  return (values) => parts.map((part) => part(values)).join('')
}

const plainValues: Readonly<Record<string, Text>> = {
  '.Name': ({ request }) => request.asked,
  '.Zone': ({ zone }) => zone,
  '.Type': ({ request }) => recordTypeName(request.type),
  '.Class': ({ request }) => (request.class === internetClass ? 'IN' : String(request.class)),
  '.Remote': ({ request }) => request.from.host,
}
