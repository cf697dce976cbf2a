/** Which form of an answer the client takes: the media type, and whether it wants the object, a table or the metadata alone. */
import { notAcceptable } from '#api/meta/status-error.ts'
import { headerChoices } from '#apiserver/http/header-choices.ts'
import { remembered } from '#base/remembered.ts'

export type Media = 'json' | 'yaml' | 'protobuf'

export type Form = {
  readonly media: Media
  readonly as: 'object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList'
  /** Of meta.k8s.io, for tables and metadata. */
  readonly metaVersion: 'v1' | 'v1beta1'
  readonly isPretty: boolean
}

export const contentTypes: Readonly<Record<Media, string>> = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
}

const mediaOf: ReadonlyMap<string, Media> = new Map([
  ['application/json', 'json'],
  ['application/yaml', 'yaml'],
  ['application/vnd.kubernetes.protobuf', 'protobuf'],
  ['application/*', 'json'],
  ['*/*', 'json'],
])

// Clients send a handful of headers over and over.
const formOfHeader = remembered((header) => chooseForm(header, false))
const formWithoutTable = remembered((header) => chooseForm(header, true))

/** The first form in the client's order of preference that can be given. Throws 406. */
export function negotiate(
  accept: string | undefined,
  options: { pretty: string | null; userAgent: string | undefined /** The resource cannot be shown as one. */; hasNoTable?: boolean },
): Form {
  const header = headerChoices(accept)
  const form = options.hasNoTable ? formWithoutTable(header) : formOfHeader(header)
  if (form === undefined) throw notAcceptable(acceptedMedia)
  if (!form.isPretty && wantsPretty(options.pretty, options.userAgent)) return { ...form, isPretty: true }
  return form
}

export const acceptedMedia = [contentTypes.json, contentTypes.yaml, contentTypes.protobuf]
/** Of kinds whose type is told at run time. */
export const untypedMedia = [contentTypes.json, contentTypes.yaml]

function wantsPretty(pretty: string | null, userAgent: string | undefined): boolean {
  if (pretty !== null) return pretty !== 'false' && pretty !== '0'
  return userAgent !== undefined && /^(curl|Wget|Mozilla\/5\.0)/.test(userAgent)
}

type Clause = { type: string; parameters: Record<string, string>; quality: number }

function chooseForm(header: string, hasNoTable: boolean): Form | undefined {
  for (const clause of parseAccept(header)) {
    const media = mediaOf.get(clause.type)
    if (media === undefined) continue
    const form = formOf(media, clause.parameters)
    if (form && !(hasNoTable && form.as === 'Table')) return form
  }
  return undefined
}

function formOf(media: Media, { as, g, v, pretty }: Record<string, string>): Form | undefined {
  const isPretty = pretty === '1' || pretty === 'true'
  if (as === undefined) return { media, as: 'object', metaVersion: 'v1', isPretty }
  if (as !== 'Table' && as !== 'PartialObjectMetadata' && as !== 'PartialObjectMetadataList') return undefined
  if (as === 'Table' && media === 'protobuf') return undefined
  if (g !== 'meta.k8s.io' || (v !== 'v1' && v !== 'v1beta1')) return undefined
  return { media, as, metaVersion: v, isPretty }
}

function parseAccept(header: string): Clause[] {
  const clauses = header.split(',').map((text, index) => {
    const [type = '', ...rest] = text.split(';').map((part) => part.trim())
    const parameters: Record<string, string> = {}
    for (const parameter of rest) {
      const equals = parameter.indexOf('=')
      if (equals > 0) parameters[parameter.slice(0, equals)] = parameter.slice(equals + 1).replace(/^"|"$/g, '')
    }
    const quality = Number(parameters['q'] ?? 1)
    return { type: type.toLowerCase() || '*/*', parameters, quality: Number.isFinite(quality) ? quality : 1, index }
  })
  return clauses.filter(({ quality }) => quality > 0).sort((left, right) => right.quality - left.quality || left.index - right.index)
}

/** Before anything else is looked at: whether any media type of the header is known at all, as upstream's router asks. */
export function knowsAnyOf(accept: string | undefined): boolean {
  return accept === undefined || accept === '' || hasKnownMedia(headerChoices(accept))
}

const hasKnownMedia = remembered((header) =>
  header.split(',').some((text) => {
    const type = (text.split(';')[0] ?? '').trim()
    return type === '*/*' || (mediaOf.has(type) && type !== 'application/*')
  }),
)
