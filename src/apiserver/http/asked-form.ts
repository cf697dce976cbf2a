/** The form of the answer, as the request asks for it. */
import { quoted } from '#api/meta/check.ts'
import { badRequest } from '#api/meta/status-error.ts'
import type { TableOptions } from '#apiserver/http/answers.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { type Form, knowsAnyOf, negotiate } from '#apiserver/http/negotiation.ts'
import { unknownAccept } from '#apiserver/http/refusals.ts'
import type { IncludeObject } from '#apiserver/http/table.ts'
import type { Clock } from '#base/clock.ts'

export function formOf(context: RequestContext, { hasNoTable = false } = {}): Form {
  if (!knowsAnyOf(context.headers.accept)) throw unknownAccept(context.info.verb === 'list' || context.info.verb === 'watch')
  return negotiate(context.headers.accept, { pretty: context.query.get('pretty'), userAgent: context.headers['user-agent'], hasNoTable })
}

const includes: ReadonlySet<string> = new Set(['Metadata', 'Object', 'None'])

export function tableOptions({ clock }: { clock: Clock }, { query }: RequestContext): TableOptions {
  const include = query.get('includeObject')
  if (include && !includes.has(include)) {
    const why = `includeObject: Invalid value: ${quoted(include)}: must be 'Metadata', 'Object', 'None', or empty`
    throw badRequest(`Unable to convert to Table as requested: ${why}`)
  }
  return { nowMs: clock.now(), include: include === 'None' || include === 'Object' ? include : ('Metadata' satisfies IncludeObject) }
}
