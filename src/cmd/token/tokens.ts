import { join } from 'node:path'
import { Secret } from '#api/core/v1/kinds.gen.ts'
import type { V1Secret } from '#api/core/v1/types.gen.ts'
import { formatTime } from '#api/meta/time.ts'
import { readWebhookKubeconfig } from '#apiserver/authn/webhook/webhook-kubeconfig.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { thisProcess } from '#base/machine.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { systemRandom } from '#base/random.ts'
import { Client } from '#client/client.ts'
import { httpTransport } from '#client/http-transport.ts'
import { textTable } from '#cmd/text-table.ts'

type Where = { dataDir: string; kubeconfig: string }

const namespace = 'kube-system'
const type = 'bootstrap.kubernetes.io/token'
const letters = 'abcdefghijklmnopqrstuvwxyz0123456789'

export async function createToken(options: Where & { ttl: number; description: string; groups: readonly string[] }): Promise<void> {
  const { ttl, description, groups } = options
  const [id, secret] = [randomText(6), randomText(16)]
  await withClient(options, (client) =>
    client.create(Secret, {
      metadata: { name: `bootstrap-token-${id}`, namespace },
      type,
      stringData: {
        'token-id': id,
        'token-secret': secret,
        'usage-bootstrap-authentication': 'true',
        'usage-bootstrap-signing': 'true',
        ...(groups.length === 0 ? {} : { 'auth-extra-groups': groups.join(',') }),
        ...omitEmpty({ description }),
        ...(ttl === 0 ? {} : { expiration: formatTime(systemClock.now() + ttl) }),
      },
    }),
  )
  thisProcess.print(`${id}.${secret}`)
}

export async function listTokens(options: Where): Promise<void> {
  const { items } = await withClient(options, (client) => client.list(Secret, { namespace, fieldSelector: `type=${type}` }))
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

async function withClient<T>({ dataDir, kubeconfig }: Where, use: (client: Client) => Promise<T>): Promise<T> {
  const { url, connection, headers } = await readWebhookKubeconfig(nodeFiles, kubeconfig || join(dataDir, 'admin.kubeconfig'))
  using http = nodeHttpClient(connection)
  return await use(new Client({ transport: httpTransport({ http, server: url, headers }), userAgent: 'typernetes' }))
}

function value({ data }: V1Secret, key: string): string {
  return Buffer.from(data?.[key] ?? '', 'base64').toString('utf8')
}

function randomText(length: number): string {
  let text = ''
  while (text.length < length) {
    // Bytes beyond a multiple of the alphabet would favour its first letters.
    const [byte = 0] = systemRandom.bytes(1)
    if (byte < 256 - (256 % letters.length)) text += letters[byte % letters.length]
  }
  return text
}
