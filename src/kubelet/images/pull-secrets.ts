import { Secret } from '#api/core/v1/kinds.gen.ts'
import type { Client } from '#client/client.ts'
import type { PullSecrets } from '#kubelet/images/image-manager.ts'

/** Asked for with each pull, which is rare: nothing is watched for it. */
export function pullSecretsOf(client: Pick<Client, 'get'>): PullSecrets {
  return { secret: (namespace, name) => client.get(Secret, namespace, name) }
}
