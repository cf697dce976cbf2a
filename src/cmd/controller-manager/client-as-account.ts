import { ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import { ignoreAlreadyExists } from '#api/meta/server-response.ts'
import type { Client } from '#client/client.ts'

/** Absent `clientFor`: everything is done as the manager itself. */
export type ActingClients = { client: Client; clientFor?: (account: string) => Promise<Client> }

/** Upstream's controllers have service accounts in kube-system; so has whatever runs beside them. */
export async function clientAsAccount(account: string, { client, clientFor }: ActingClients): Promise<Client> {
  if (clientFor === undefined) return client
  await client.create(ServiceAccount, { metadata: { namespace: 'kube-system', name: account } }).catch(ignoreAlreadyExists)
  return clientFor(account)
}
