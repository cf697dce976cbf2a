/** What answers of a server mean. */

import { genericServerResponse } from '#api/meta/server-response.ts'
import { StatusError } from '#api/meta/status-error.ts'
import type { V1Status } from '#api/meta/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import type { TransportResponse } from '#client/transport.ts'

export type Question = { method: string; group: string; plural: string; name: string }

/** The Status the server refused with, or what can be told from the code alone. */
export async function refusalOf(response: TransportResponse, { method, group, plural, name }: Question): Promise<StatusError> {
  const text = await response.text().catch(() => '')
  const status = parsedStatus(text)
  if (status !== undefined) return new StatusError({ ...status, code: status.code ?? response.status })
  const retryAfter = Number(response.header('retry-after') ?? 0)
  return genericServerResponse({
    code: response.status,
    verb: method,
    resource: { group, resource: plural },
    name,
    message: text.trim().slice(0, 2048) || 'unknown',
    isUnexpected: true,
    ...defined({ retryAfterSeconds: retryAfter > 0 ? retryAfter : undefined }),
  })
}

function parsedStatus(text: string): V1Status | undefined {
  try {
    const value = JSON.parse(text) as V1Status
    return value?.kind === 'Status' && value.status !== 'Success' ? value : undefined
  } catch {
    return undefined
  }
}
