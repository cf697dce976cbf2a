/** Answers with OpenAPI documents: in the form that is asked for, compressed, or not at all where the client has them. */
import { createHash } from 'node:crypto'
import { takesGzip } from '#apiserver/http/content-coding.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { headerChoices } from '#apiserver/http/header-choices.ts'
import type { Clock } from '#base/clock.ts'
import { gunzip } from '#base/compression.ts'
import type { HttpHeaders } from '#base/http-server.ts'
import type { OpenApiDocuments } from './documents.ts'

const protobufV2 = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'
const yearMs = 365 * 24 * 3600 * 1000

/** `@` is how older clients write it. */
const formatsV2: Readonly<Record<string, 'json' | 'protobuf'>> = {
  'application/json': 'json',
  [protobufV2]: 'protobuf',
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf': 'protobuf',
}

export async function respondV2(context: RequestContext, documents: OpenApiDocuments): Promise<void> {
  const format = accepted(context.headers.accept, formatsV2)
  if (format === undefined) {
    context.exchange.respond(406, { vary: 'Accept' })
    return
  }
  const { hash, compressed } = await documents.v2(format)
  await respondTagged(context, { 'content-type': format === 'json' ? 'application/json' : protobufV2, vary: 'Accept' }, hash, compressed)
}

export function respondIndex(context: RequestContext, documents: OpenApiDocuments): void {
  const paths: Record<string, unknown> = {}
  let all = ''
  for (const [name, { hash }] of documents.index()) {
    if (documents.remote?.owns(name)) continue
    paths[name] = { serverRelativeURL: relativeUrl(name, hash) }
    all += hash
  }
  for (const [name, serverRelativeURL] of documents.remote?.index() ?? []) {
    paths[name] = { serverRelativeURL }
    all += serverRelativeURL
  }
  const etag = JSON.stringify(createHash('sha512').update(all).digest('hex').toUpperCase())
  const headers: HttpHeaders = { 'content-type': 'application/json', etag }
  if (context.headers['if-none-match'] === etag) context.exchange.respond(304, headers)
  else context.exchange.respond(200, headers, JSON.stringify({ paths }))
}

export async function respondV3(context: RequestContext, documents: OpenApiDocuments, clock: Clock): Promise<void> {
  const { exchange, info, query } = context
  const headers: HttpHeaders = { vary: 'Accept', 'content-type': 'application/json' }
  if (accepted(context.headers.accept, { 'application/json': 'json' }) === undefined) {
    exchange.respond(406, { vary: 'Accept' })
    return
  }
  const name = info.path.slice('/openapi/v3/'.length)
  const document = documents.v3(name)
  if (document === undefined && documents.isGone(name)) {
    exchange.respond(404, { vary: 'Accept' })
    return
  }
  if (document === undefined) {
    // Upstream finds no document and says nothing at all.
    exchange.respond(200, { vary: 'Accept' })
    return
  }
  const hash = documents.index().get(name)?.hash ?? ''
  const asked = query.get('hash')
  if (asked !== null && asked !== '') {
    if (asked !== hash) {
      exchange.respond(301, { ...headers, location: relativeUrl(name, hash) })
      return
    }
    headers['cache-control'] = 'public, immutable'
    headers['expires'] = new Date(clock.now() + yearMs).toUTCString()
  }
  const { compressed } = await document
  await respondTagged(context, headers, hash, compressed)
}

function relativeUrl(name: string, hash: string): string {
  return `/openapi/v3/${name}?hash=${hash}`
}

async function respondTagged(context: RequestContext, headers: HttpHeaders, hash: string, compressed: Buffer): Promise<void> {
  const etag = JSON.stringify(hash)
  headers['etag'] = etag
  if (context.headers['if-none-match'] === etag) context.exchange.respond(304, headers)
  else if (takesGzip(context.headers['accept-encoding'])) {
    context.exchange.respond(200, { ...headers, 'content-encoding': 'gzip', vary: 'Accept, Accept-Encoding' }, compressed)
  } else context.exchange.respond(200, headers, await gunzip(compressed))
}

/** The value of the first media type in the client's order of preference that is offered. */
function accepted<T>(accept: string | undefined, offered: Readonly<Record<string, T>>): T | undefined {
  const clauses = (headerChoices(accept) || '*/*').split(',').map((clause) => {
    const [type = '', ...parameters] = clause.split(';').map((part) => part.trim())
    const quality = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1)
    return { type, quality }
  })
  for (const { type } of clauses.sort((one, other) => other.quality - one.quality)) {
    const exact = Object.hasOwn(offered, type) ? offered[type] : undefined
    if (exact !== undefined) return exact
    if (type === '*/*' || type === 'application/*') return Object.values(offered)[0]
  }
  return undefined
}
