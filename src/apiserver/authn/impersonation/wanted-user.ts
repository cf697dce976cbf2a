import { dns1123Subdomain } from '#api/meta/names.ts'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import { splitServiceAccountUsername } from '#apiserver/authn/service-account/username.ts'

/** Whom the headers ask for, as they say it. */
export type WantedUser = {
  readonly name: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/** The node's name, where the user is one that a kubelet could have. */
export function nodeOfUsername(username: string): string | undefined {
  const prefix = 'system:node:'
  if (!username.startsWith(prefix)) return undefined
  const name = username.slice(prefix.length)
  return dns1123Subdomain(name).length === 0 ? name : undefined
}

export function isOnlyAName({ uid, groups, extra }: WantedUser): boolean {
  return uid === '' && groups.length === 0 && Object.keys(extra).length === 0
}

/** Whether a service account, by its token, is known to run on the node. */
export function runsOn(requestor: UserInfo, node: string): boolean {
  const nodes = requestor.extra['authentication.kubernetes.io/node-name'] ?? []
  return splitServiceAccountUsername(requestor.name) !== undefined && nodes.length === 1 && nodes[0] === node
}
