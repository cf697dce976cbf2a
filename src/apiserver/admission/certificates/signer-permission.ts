import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import type { Attributes, Authorizer } from '#apiserver/authz/authorizer.ts'

/** Whether the user may do something in the name of the signer: of this one, or of all in its domain (`example.com/*`). */
export async function mayActForSigner(authorizer: Authorizer, user: UserInfo, verb: string, signerName: string): Promise<boolean> {
  const domain = signerName.split('/')[0] ?? ''
  for (const name of [signerName, `${domain}/*`]) {
    const { decision, error } = await authorizer.authorize(attributes(user, verb, name))
    if (decision === 'allow' && error === undefined) return true
  }
  return false
}

const attributes = (user: UserInfo, verb: string, name: string): Attributes => ({
  user,
  verb,
  name,
  group: 'certificates.k8s.io',
  version: '*',
  resource: 'signers',
  subresource: '',
  namespace: '',
  path: '',
  isResourceRequest: true,
})
