/** HTTP as the soak's clients speak it: what is cut short is an outcome, not an error. */
import { Agent, request } from 'node:https'

export type Target = { url: string; token: string }
/** The number an object holds; undefined: the object is not there. */
export type Count = number | undefined
export type Reply = { status: number; body: Record<string, unknown> }

const answerLimitMs = 60_000

/** Undefined: nobody knows whether it took place. */
export function ask(
  agent: Agent,
  { url, token }: Target,
  method: string,
  path: string,
  body?: object,
  limitMs = answerLimitMs,
  contentType = 'application/json',
): Promise<Reply | undefined> {
  return new Promise((resolve) => {
    const text = body === undefined ? '' : JSON.stringify(body)
    const headers = { authorization: `Bearer ${token}`, 'content-type': contentType, 'content-length': Buffer.byteLength(text) }
    // Not the agent's limit, which begins anew with every byte of a slow link.
    const limit = setTimeout(() => sent.destroy(), limitMs)
    const sent = request(`${url}${path}`, { method, headers, agent }, (answer) => {
      const pieces: Buffer[] = []
      answer.on('data', (piece: Buffer) => pieces.push(piece))
      answer.on('error', () => resolve(undefined))
      answer.on('end', () => {
        try {
          resolve({ status: answer.statusCode ?? 0, body: JSON.parse(Buffer.concat(pieces).toString('utf8')) })
        } catch {
          resolve({ status: answer.statusCode ?? 0, body: {} })
        }
      })
      answer.on('close', () => resolve(undefined))
    })
    sent.on('close', () => clearTimeout(limit))
    sent.on('error', () => resolve(undefined))
    sent.end(text)
  })
}

export const newAgent = (): Agent => new Agent({ keepAlive: true, rejectUnauthorized: false, maxSockets: 64 })

type Meta = { name: string; resourceVersion: string }
export type Counter = { metadata: Meta; data?: { count?: string } }

export const countersPath = '/api/v1/namespaces/default/configmaps'
export const ownLabel = 'labelSelector=soak%3Dyes'
export const countOf = (object: Counter): number => Number(object.data?.count)
