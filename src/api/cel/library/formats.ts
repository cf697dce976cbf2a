/** Named formats of strings: `format.dns1123Label().validate(name)`. */

import { parseRequestUri } from '#api/cel/library/urls.ts'
import { parseTimestamp } from '#api/cel/standard/time-texts.ts'
import { listOf, optionalOf, string, struct } from '#api/cel/types/cel-type.ts'
import { declare, type FunctionDeclaration, member, plain } from '#api/cel/types/declarations.ts'
import { ArrayList, CelObject, Optional, type Value } from '#api/cel/values/value.ts'
import { labelValue, nameIsDns1035Label, nameIsDns1123Label, nameIsDns1123Subdomain, qualifiedName } from '#api/meta/names.ts'

export const formatType = struct('kubernetes.NamedFormat')

type NamedFormat = {
  readonly name: string
  /** How long the regular expression is thought to be, for costs. */
  readonly regexSize: number
  /** What is wrong with the text. */
  complaints(text: string): string[]
}

export class FormatValue extends CelObject {
  override readonly type = formatType
  readonly format: NamedFormat

  constructor(format: NamedFormat) {
    super()
    this.format = format
  }
  override equals(other: Value): boolean {
    return other instanceof FormatValue && this.format.name === other.format.name
  }
}

const unless = (isSound: (text: string) => boolean, complaint: string) => (text: string) => (isSound(text) ? [] : [complaint])

function uriComplaints(text: string): string[] {
  try {
    parseRequestUri(text)
    return []
  } catch (error) {
    return [(error as Error).message]
  }
}

const isUuid = (text: string) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text)
const isBase64 = (text: string) =>
  text !== '' && /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/.test(text)
const isDate = (text: string) => parseTimestamp(`${text}T00:00:00Z`) !== undefined
const isDateTime = (text: string) => parseTimestamp(text) !== undefined

const formats: Readonly<Record<string, NamedFormat>> = {
  dns1123Label: { name: 'DNS1123Label', regexSize: 30, complaints: (text) => nameIsDns1123Label(text, false) },
  dns1123Subdomain: { name: 'DNS1123Subdomain', regexSize: 60, complaints: (text) => nameIsDns1123Subdomain(text, false) },
  dns1035Label: { name: 'DNS1035Label', regexSize: 30, complaints: (text) => nameIsDns1035Label(text, false) },
  qualifiedName: { name: 'QualifiedName', regexSize: 60, complaints: qualifiedName },
  dns1123LabelPrefix: { name: 'DNS1123LabelPrefix', regexSize: 30, complaints: (text) => nameIsDns1123Label(text, true) },
  dns1123SubdomainPrefix: { name: 'DNS1123SubdomainPrefix', regexSize: 60, complaints: (text) => nameIsDns1123Subdomain(text, true) },
  dns1035LabelPrefix: { name: 'DNS1035LabelPrefix', regexSize: 30, complaints: (text) => nameIsDns1035Label(text, true) },
  labelValue: { name: 'LabelValue', regexSize: 40, complaints: labelValue },
  uri: { name: 'URI', regexSize: 2083, complaints: uriComplaints },
  uuid: { name: 'uuid', regexSize: 103, complaints: unless(isUuid, 'does not match the UUID format') },
  byte: { name: 'byte', regexSize: 84, complaints: unless(isBase64, 'invalid base64') },
  date: { name: 'date', regexSize: 74, complaints: unless(isDate, 'invalid date') },
  datetime: { name: 'datetime', regexSize: 74, complaints: unless(isDateTime, 'invalid datetime') },
}

const values = new Map(Object.entries(formats).map(([name, format]) => [name, new FormatValue(format)]))

export const formatsLibrary: readonly FunctionDeclaration[] = [
  ...[...values].map(([name, value]) =>
    declare(
      `format.${name}`,
      plain(`format.${name}`, [], formatType, () => value),
    ),
  ),
  declare(
    'validate',
    member('format-validate', [formatType, string], optionalOf(listOf(string)), (format, text) => {
      const complaints = (format as FormatValue).format.complaints(text as string)
      return complaints.length === 0 ? Optional.none : new Optional(new ArrayList(complaints))
    }),
  ),
  declare(
    'format.named',
    plain('format-named', [string], optionalOf(formatType), (name) => new Optional(values.get(name as string))),
  ),
]
