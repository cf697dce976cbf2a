import { forbidden } from '#api/meta/status-error.ts'
import type { Authorizer } from '#apiserver/authz/authorizer.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { attributesOf } from '#apiserver/http/handler.ts'

/** Who may patch or update, and names an object that is not there, creates it: for that they must have the right to. In upstream's words. */
export async function authorizeCreate({ user, info, query }: RequestContext, authorizer: Authorizer): Promise<void> {
  const attributes = { ...attributesOf(user, info, query), verb: 'create' }
  const { decision, reason } = await authorizer.authorize(attributes)
  if (decision !== 'allow') throw forbidden({ group: info.group, resource: info.resource }, info.name, reason)
}
