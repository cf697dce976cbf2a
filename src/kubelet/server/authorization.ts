/** What callers of the kubelet may do: the API server decides, in terms of subresources of the node. */

import { SubjectAccessReview } from '#api/authorization/v1/kinds.gen.ts'
import type { Clock } from '#base/clock.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Client } from '#client/client.ts'
import type { Caller } from '#kubelet/server/authentication.ts'
import { Remembered } from '#kubelet/server/remembered.ts'

const verbs: Readonly<Record<string, string>> = { POST: 'create', GET: 'get', PUT: 'update', PATCH: 'patch', DELETE: 'delete' }

/** Paths with a permission of their own, beside the one for everything. */
const fineGrained: readonly (readonly [string, string])[] = [
  ['/pods', 'pods'],
  ['/healthz', 'healthz'],
  ['/configz', 'configz'],
  ['/runningpods', 'pods'],
]

/** Paths that the permission for everything does not cover. */
const apart: readonly (readonly [string, string])[] = [
  ['/stats', 'stats'],
  ['/metrics', 'metrics'],
  ['/logs', 'log'],
  ['/checkpoint', 'checkpoint'],
  ['/statusz', 'statusz'],
  ['/flagz', 'configz'],
]

const isBelow = (path: string, root: string) => path === root || path.startsWith(`${root}/`)

export type NodeAttributes = { verb: string; subresources: readonly string[] }

/** Any one of the subresources will do. */
export function nodeAttributes(method: string, path: string): NodeAttributes {
  const fine = fineGrained.find(([root]) => isBelow(path, root))?.[1]
  const main = apart.find(([root]) => isBelow(path, root))?.[1] ?? 'proxy'
  return { verb: verbs[method] ?? '', subresources: fine === undefined ? [main] : [fine, main] }
}

export type AuthorizationOptions = {
  nodeName: string
  client: Pick<Client, 'create'>
  clock: Clock
  allowedLastsMs: number
  deniedLastsMs: number
}

/** Throws an `AuthorizationTrouble` when the API server cannot be asked. */
export type Authorize = (caller: Caller, attributes: NodeAttributes) => Promise<boolean>

export class AuthorizationTrouble extends Error {
  override name = 'AuthorizationTrouble'
}

export function reviewingAuthorization(options: AuthorizationOptions): Authorize {
  const { nodeName, client, clock, allowedLastsMs, deniedLastsMs } = options
  const known = new Remembered<boolean>(clock)
  const isAllowed = async (caller: Caller, verb: string, subresource: string): Promise<boolean> => {
    const { name, uid, groups, extra } = caller
    const spec = {
      user: name,
      groups: [...groups],
      ...omitEmpty({ uid }),
      extra: { ...extra },
      resourceAttributes: { verb, version: 'v1', resource: 'nodes', subresource, name: nodeName },
    }
    const key = JSON.stringify(spec)
    const before = known.get(key)
    if (before !== undefined) return before
    try {
      const { status } = await client.create(SubjectAccessReview, { metadata: {}, spec })
      const allowed = status?.allowed ?? false
      known.set(key, allowed, allowed ? allowedLastsMs : deniedLastsMs)
      return allowed
    } catch (error) {
      const what = `user=${name}, verb=${verb}, resource=nodes, subresource=${subresource}`
      throw new AuthorizationTrouble(`Authorization error (${what})`, { cause: error })
    }
  }
  return async (caller, { verb, subresources }) => {
    for (const subresource of subresources) if (await isAllowed(caller, verb, subresource)) return true
    return false
  }
}

export function forbiddenText({ name }: Caller, { verb, subresources }: NodeAttributes): string {
  return `Forbidden (user=${name}, verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(' ')}])\n`
}
