import { Secret } from '#api/core/v1/kinds.gen.ts'
import type { V1Secret } from '#api/core/v1/types.gen.ts'
import { systemClock } from '#base/clock.ts'
import { thisProcess } from '#base/machine.ts'
import { systemRandom } from '#base/random.ts'
import { type ClusterPlace as Where, withAdminClient as withClient } from '#cmd/running/admin-client.ts'
import { textTable } from '#cmd/text-table.ts'
import {
  bootstrapTokenSecret,
  bootstrapTokenType,
  bootstrapTokenNamespace as namespace,
  newBootstrapToken,
} from '#cmd/token/bootstrap-token-secret.ts'

export async function createToken(
  options: Where & { ttl: number; description: string; groups: readonly string[]; printJoinCommand: boolean },
): Promise<void> {
  const { ttl, description, groups } = options
  const token = newBootstrapToken(systemRandom)
  const expiresMs = ttl === 0 ? undefined : systemClock.now() + ttl
  await withClient(options, async (client, { url, connection }) => {
    await client.create(Secret, bootstrapTokenSecret(token, { description, groups, expiresMs }))
    if (!options.printJoinCommand) return thisProcess.print(token)
    const { joinCommand } = await import('#cmd/init/init.ts')
    thisProcess.print(joinCommand(url, token, String(connection.ca ?? '')))
  })
}

export async function listTokens(options: Where): Promise<void> {
  const { items } = await withClient(options, (client) => client.list(Secret, { namespace, fieldSelector: `type=${bootstrapTokenType}` }))
  const rows = items.map((secret) => {
    const [id, expiration] = [value(secret, 'token-id'), value(secret, 'expiration')]
    return [
      `${id}.${value(secret, 'token-secret')}`,
      expiration || 'never',
      value(secret, 'auth-extra-groups'),
      value(secret, 'description'),
    ]
  })
  thisProcess.print(textTable(['TOKEN', 'EXPIRES', 'GROUPS', 'DESCRIPTION'], rows))
}

export async function deleteTokens(tokens: readonly string[], options: Where): Promise<void> {
  await withClient(options, async (client) => {
    for (const token of tokens) {
      const [id = ''] = token.split('.')
      if (!/^[a-z0-9]{6}$/.test(id)) throw new Error(`${token} is neither a token nor the id of one`)
      await client.delete(Secret, { namespace, name: `bootstrap-token-${id}` })
      thisProcess.print(`Deleted: ${id}`)
    }
  })
}

function value({ data }: V1Secret, key: string): string {
  return Buffer.from(data?.[key] ?? '', 'base64').toString('utf8')
}
