import type { V1Secret } from '#api/core/v1/types.gen.ts'
import { parseTime } from '#api/meta/time.ts'

export const isBootstrapToken = ({ type, metadata }: V1Secret): boolean =>
  type === 'bootstrap.kubernetes.io/token' && metadata.namespace === 'kube-system'

export const tokenField = ({ data }: V1Secret, name: string): string => Buffer.from(data?.[name] ?? '', 'base64').toString()

/** Undefined for tokens that never expire; one that cannot be read has expired. */
export function expiryMs(secret: V1Secret): number | undefined {
  const text = tokenField(secret, 'expiration')
  if (text === '') return undefined
  try {
    return parseTime(text)
  } catch {
    return 0
  }
}
