import { quoted } from '#api/meta/check.ts'
import { badRequest } from '#api/meta/status-error.ts'
import type { Credentials, UserInfo } from '#apiserver/authn/authenticator.ts'
import { headerValues, headerValuesWithPrefix } from '#apiserver/authn/header-values.ts'
import { impersonatedUser } from '#apiserver/authn/impersonation/modes.ts'
import type { WantedUser } from '#apiserver/authn/impersonation/wanted-user.ts'
import type { Attributes, Authorizer } from '#apiserver/authz/authorizer.ts'

const prefix = 'impersonate-'

/** Whether a request asks to be taken for somebody else's. */
export function isImpersonated(headers: Credentials['headers']): boolean {
  for (const name in headers) if (name.startsWith(prefix)) return true
  return false
}

/**
 * The user that the request shall be taken for, if the one who makes it may do that; throws the refusal otherwise.
 * With `request`, what was asked for, permissions that are limited to some requests count too.
 */
export async function impersonate(
  requestor: UserInfo,
  _headers: Credentials['headers'],
  rawHeaders: readonly string[],
  authorizer: Authorizer,
  request?: Attributes,
): Promise<UserInfo> {
  const wanted = wantedUser(rawHeaders)
  return wanted === undefined ? requestor : impersonatedUser(wanted, requestor, authorizer, request)
}

function wantedUser(rawHeaders: readonly string[]): WantedUser | undefined {
  const values = (name: string) => headerValues({ rawHeaders }, prefix + name)
  const wanted: WantedUser = {
    name: values('user')[0] ?? '',
    uid: values('uid')[0] ?? '',
    groups: values('group'),
    extra: headerValuesWithPrefix({ rawHeaders }, `${prefix}extra-`),
  }
  if (wanted.name !== '') return wanted
  const asksForMore = wanted.uid !== '' || wanted.groups.length > 0 || Object.keys(wanted.extra).length > 0
  if (asksForMore) throw badRequest(`requested ${goStruct(wanted)} without impersonating a user name`)
  return undefined
}

/** As Go prints it: clients see it. */
function goStruct({ name, uid, groups, extra }: WantedUser): string {
  const texts = (list: readonly string[]) => `[]string{${list.map(quoted).join(', ')}}`
  const keys = Object.keys(extra).sort()
  const entries = keys.map((key) => `${quoted(key)}:${texts(extra[key] ?? [])}`).join(', ')
  const groupsText = groups.length === 0 ? '[]string(nil)' : texts(groups)
  const extraText = keys.length === 0 ? 'map[string][]string(nil)' : `map[string][]string{${entries}}`
  return `&user.DefaultInfo{Name:${quoted(name)}, UID:${quoted(uid)}, Groups:${groupsText}, Extra:${extraText}}`
}
