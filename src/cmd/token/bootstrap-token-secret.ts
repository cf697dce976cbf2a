import type { V1Secret } from '#api/core/v1/types.gen.ts'
import { formatTime } from '#api/meta/time.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Random } from '#base/random.ts'

export const bootstrapTokenType = 'bootstrap.kubernetes.io/token'
export const bootstrapTokenNamespace = 'kube-system'
const letters = 'abcdefghijklmnopqrstuvwxyz0123456789'

export const newBootstrapToken = (random: Random): string => `${randomText(6, random)}.${randomText(16, random)}`

/** The secret that makes the token good, for joining and for signing `cluster-info`. */
export function bootstrapTokenSecret(
  token: string,
  { description, groups, expiresMs }: { description: string; groups: readonly string[]; expiresMs: number | undefined },
): V1Secret {
  const [, id = '', secret = ''] = /^([a-z0-9]{6})\.([a-z0-9]{16})$/.exec(token) ?? []
  if (id === '') throw new Error(`--token: ${token} is no bootstrap token such as abcdef.0123456789abcdef`)
  return {
    metadata: { name: `bootstrap-token-${id}`, namespace: bootstrapTokenNamespace },
    type: bootstrapTokenType,
    stringData: {
      'token-id': id,
      'token-secret': secret,
      'usage-bootstrap-authentication': 'true',
      'usage-bootstrap-signing': 'true',
      ...defined({ 'auth-extra-groups': groups.length === 0 ? undefined : groups.join(',') }),
      ...omitEmpty({ description }),
      ...defined({ expiration: expiresMs === undefined ? undefined : formatTime(expiresMs) }),
    },
  }
}

function randomText(length: number, random: Random): string {
  let text = ''
  while (text.length < length) {
    // Bytes beyond a multiple of the alphabet would favour its first letters.
    const [byte = 0] = random.bytes(1)
    if (byte < 256 - (256 % letters.length)) text += letters[byte % letters.length]
  }
  return text
}
