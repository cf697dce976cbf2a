import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import { assumed } from '#apiserver/authn/impersonation/assumed-user.ts'
import { isOnlyAName, nodeOfUsername, runsOn, type WantedUser } from '#apiserver/authn/impersonation/wanted-user.ts'
import { splitServiceAccountUsername } from '#apiserver/authn/service-account/username.ts'
import type { Attributes, Authorizer } from '#apiserver/authz/authorizer.ts'
import { forbidden } from '#apiserver/authz/forbidden.ts'

/**
 * A way to be allowed to impersonate. The constrained ones need two permissions: to take that identity (`impersonate:MODE`),
 * and to do what the request does while having it (`impersonate-on:MODE:VERB`). The last, older than the others, needs only to
 * be allowed to `impersonate`.
 */
type Mode = {
  readonly name: string
  applies(wanted: WantedUser, requestor: UserInfo): boolean
}

const constrainedModes: readonly Mode[] = [
  {
    name: 'associated-node',
    applies(wanted, requestor) {
      const node = nodeOfUsername(wanted.name)
      return node !== undefined && isOnlyAName(wanted) && runsOn(requestor, node)
    },
  },
  { name: 'arbitrary-node', applies: (wanted) => isOnlyAName(wanted) && nodeOfUsername(wanted.name) !== undefined },
  { name: 'serviceaccount', applies: (wanted) => isOnlyAName(wanted) && splitServiceAccountUsername(wanted.name) !== undefined },
  {
    name: 'user-info',
    applies: ({ name }) => nodeOfUsername(name) === undefined && splitServiceAccountUsername(name) === undefined,
  },
]

/** Tries one way after the other; the first refusal is the one that is told. */
export async function impersonatedUser(
  wanted: WantedUser,
  requestor: UserInfo,
  authorizer: Authorizer,
  request: Attributes | undefined,
): Promise<UserInfo> {
  let refusal: unknown
  for (const mode of request === undefined ? [] : constrainedModes) {
    if (!mode.applies(wanted, requestor)) continue
    try {
      const checker = mode.name === 'associated-node' ? forAnyNode(authorizer) : authorizer
      const attributes = { ...(request as Attributes), user: requestor }
      await mustBeAllowed(checker, { ...attributes, verb: `impersonate-on:${mode.name}:${attributes.verb}` })
      return await assumed(wanted, requestor, `impersonate:${mode.name}`, true, (asked) => mustBeAllowed(checker, asked))
    } catch (error) {
      refusal ??= error
    }
  }
  try {
    return await assumed(wanted, requestor, 'impersonate', false, (asked) => mustBeAllowed(authorizer, asked))
  } catch (error) {
    throw refusal ?? error
  }
}

async function mustBeAllowed(authorizer: Authorizer, attributes: Attributes): Promise<void> {
  const { decision, reason, error } = await authorizer.authorize(attributes)
  if (decision === 'allow') return
  const why = error === undefined ? reason : reason === '' ? error : `${error}: ${reason}`
  throw forbidden(attributes, why)
}

/** Permission to take the identity of one's own node is given for every node at once: each pod runs on another. */
function forAnyNode(authorizer: Authorizer): Authorizer {
  return {
    authorize(attributes) {
      const extra = { 'authentication.kubernetes.io/associated-node-keys': Object.keys(attributes.user.extra).sort() }
      const name = attributes.verb === 'impersonate:associated-node' ? '*' : attributes.name
      return authorizer.authorize({ ...attributes, name, user: { ...attributes.user, extra } })
    },
  }
}
