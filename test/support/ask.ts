/** Requests with exactly the credentials a test gives, each on a connection of its own. */
import { type IncomingMessage, request as plainRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'

export type Credential = { cert?: string; key?: string; headers?: Record<string, string | string[]> }
export type Reply = { status: number; body: Record<string, unknown>; warnings: string[] }

/** `authority` is whom the server's certificate comes from. */
export type Ask = (who: Credential, method: string, path: string, body?: object, headers?: Record<string, string>) => Promise<Reply>

export function asker(url: string, authority?: string): Ask {
  return (who, method, path, body, more = {}) => {
    const { cert, key, headers = {} } = who
    const text = body === undefined ? undefined : JSON.stringify(body)
    const send = url.startsWith('https:') ? httpsRequest : plainRequest
    const options = {
      method,
      agent: false as const,
      ...(authority === undefined ? {} : { ca: authority }),
      ...(cert === undefined ? {} : { cert, key }),
      headers: { ...(text ? { 'content-type': 'application/json' } : {}), ...headers, ...more },
    }
    return new Promise((resolve, reject) => {
      const read = async (response: IncomingMessage): Promise<Reply> => {
        let answer = ''
        for await (const chunk of response) answer += String(chunk)
        const warnings = [response.headers['warning'] ?? []].flat().map(String)
        return { status: response.statusCode ?? 0, body: bodyOf(answer), warnings }
      }
      const request = send(`${url}${path}`, options, (response) => void read(response).then(resolve, reject))
      request.on('error', reject)
      request.end(text)
    })
  }
}

export const bearer = (token: string): Credential => ({ headers: { authorization: `Bearer ${token}` } })
export const basic = (name: string, password: string): Credential => ({
  headers: { authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` },
})

/** Who the server takes somebody for; undefined where it does not let him in. */
export async function whoIs(ask: Ask, who: Credential): Promise<{ username: string; groups: string[] } | undefined> {
  const { status, body } = await ask(who, 'POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
  })
  if (status === 401) return undefined
  const { username = '', groups = [] } =
    (body['status'] as { userInfo?: { username?: string; groups?: string[] } } | undefined)?.userInfo ?? {}
  return { username, groups }
}

/** Events of a watch, or text, stand under `answer`. */
function bodyOf(answer: string): Record<string, unknown> {
  const isOneDocument = answer.startsWith('{') && (answer.indexOf('\n{') < 0 || !answer.startsWith('{"type"'))
  return isOneDocument ? JSON.parse(answer) : { answer }
}
