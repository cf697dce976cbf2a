import type { Files } from '#base/files.ts'
import type { KubeconfigUser } from '#client/kubeconfig/kubeconfig.ts'

/** The Authorization header of a user, read now: a token's file goes before the token, which serves while the file cannot be read. */
export async function authorizationOf({ token, tokenFile, username, password }: KubeconfigUser, files: Files): Promise<string | undefined> {
  const hasToken = token !== undefined || tokenFile !== undefined
  if (username !== undefined) {
    if (hasToken) throw new Error('username/password or bearer token may be set, but not both')
    return `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}`
  }
  if (tokenFile === undefined) return bearer(token)
  if (token === undefined) return bearer(await files.readText(tokenFile))
  // As client-go: a token file that cannot be read leaves the token that was read before.
  return bearer(await files.readText(tokenFile).catch(() => token))
}

export const bearer = (token: string | undefined): string | undefined => (token ? `Bearer ${token.trim()}` : undefined)
