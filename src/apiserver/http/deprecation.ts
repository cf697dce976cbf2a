import type { RequestContext } from '#apiserver/http/context.ts'
import type { ServedResource } from '#apiserver/http/served-resource.ts'

/** Tells who speaks a version that goes away, or is gone for others already, what to speak instead. */
export function warnOfDeprecation({ warn }: Pick<RequestContext, 'warn'>, { apiVersion, definition }: ServedResource): void {
  if (definition.deprecated === undefined) return
  const { warning, deprecatedIn, removedIn, replacement } = definition.deprecated
  if (warning !== undefined) {
    warn(warning)
    return
  }
  const gone = removedIn === undefined ? '' : `, unavailable in v${removedIn}+`
  const instead = replacement === undefined ? '' : `; use ${replacement}`
  warn(`${apiVersion} ${definition.kind} is deprecated in v${deprecatedIn}+${gone}${instead}`)
}
