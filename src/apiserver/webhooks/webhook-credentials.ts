/** How this server shows itself to admission webhooks: a kubeconfig whose users are named after the hosts they are for. */
import { dirname, resolve } from 'node:path'
import type { WebhookCredentials } from '#apiserver/webhooks/webhook-calls.ts'
import type { Files } from '#base/files.ts'

type User = Record<string, unknown>
type Kubeconfig = { users: ReadonlyMap<string, User>; current: User | undefined }

/** Read with the first call; a file that cannot be read is tried again with the next. */
export function webhookCredentials(files: Files, path: string): (hostPort: string) => Promise<WebhookCredentials | undefined> {
  let reading: Promise<Kubeconfig> | undefined
  return async (hostPort) => {
    reading ??= readKubeconfig(files, path).catch((error: unknown) => {
      reading = undefined
      throw error
    })
    const { users, current } = await reading
    const name = nicknames(hostPort).find((each) => users.has(each))
    const user = name === undefined ? current : users.get(name)
    return user && credentialsOf(files, path, user)
  }
}

/** `hook.ns.svc:443`, `*.ns.svc:443`, …, the same without the usual port, and `*` for everybody. */
function nicknames(hostPort: string): string[] {
  const stars = (host: string) => {
    const parts = host.split('.')
    return [host, ...parts.slice(1).map((_, index) => `*.${parts.slice(index + 1).join('.')}`)]
  }
  const usual = hostPort.endsWith(':443') ? stars(hostPort.slice(0, -':443'.length)) : []
  return [...stars(hostPort), ...usual, '*']
}

async function readKubeconfig(files: Files, path: string): Promise<Kubeconfig> {
  const { load } = await import('js-yaml')
  const config = (load(await files.readText(path)) ?? {}) as Record<string, unknown>
  const entries = (field: string) => (Array.isArray(config[field]) ? (config[field] as User[]) : [])
  const users = new Map(entries('users').map((entry) => [String(entry['name']), (entry['user'] ?? {}) as User]))
  const context = entries('contexts').find(({ name }) => name === config['current-context'])?.['context'] as User | undefined
  return { users, current: users.get(String(context?.['user'])) }
}

async function credentialsOf(files: Files, path: string, user: User): Promise<WebhookCredentials> {
  const file = async (name: string) => {
    const given = user[name]
    return typeof given === 'string' && given !== '' ? files.readText(resolve(dirname(path), given)) : undefined
  }
  const material = async (name: string) => {
    const data = user[`${name}-data`]
    return typeof data === 'string' ? Buffer.from(data, 'base64').toString('utf8') : file(name)
  }
  const [cert, key, tokenOfFile] = await Promise.all([material('client-certificate'), material('client-key'), file('tokenFile')])
  const token = typeof user['token'] === 'string' && user['token'] !== '' ? user['token'] : tokenOfFile?.trim()
  const { username, password } = user
  const basic = typeof username === 'string' && typeof password === 'string' ? `${username}:${password}` : undefined
  const authorization = token ? `Bearer ${token}` : basic && `Basic ${Buffer.from(basic).toString('base64')}`
  return { connection: cert && key ? { cert, key } : {}, headers: authorization ? { authorization } : {} }
}
