/** An HTTPS server that plays webhooks: paths answer as they are told, and remember what they were asked. */
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { V1AdmissionRequest } from '#api/admission/v1/types.gen.ts'
import { testAuthority } from '../contracts/certificates.ts'

/** A review as it came, with the path it came to. */
export type Asked = V1AdmissionRequest & { uid: string; apiVersion: string; headers: Record<string, string | string[] | undefined> }
/** The response of a review, or bytes as they are; undefined: silence. */
export type Answer = (asked: Asked) => object | string | ReadableStream | undefined | Promise<object | string | undefined>

export type WebhookServer = AsyncDisposable & {
  readonly caBundle: string
  readonly port: number
  /** Not loopback, which no endpoint may be at; undefined on a machine that has no other address. */
  readonly address: string | undefined
  url(path: string): string
  on(path: string, answer: Answer): void
  asked(path: string): Asked[]
}

export async function startWebhookServer(dnsNames: string[]): Promise<WebhookServer> {
  const address = Object.values(networkInterfaces())
    .flat()
    .find((each) => each !== undefined && !each.internal && each.family === 'IPv4')?.address
  const authority = testAuthority('webhooks')
  const ipAddresses = ['127.0.0.1', ...(address === undefined ? [] : [address])]
  const { certificate, key } = authority.issue('webhooks', {
    extendedKeyUsages: ['serverAuth'],
    subjectAltNames: { dnsNames, ipAddresses },
  })
  const answers = new Map<string, Answer>()
  const asked = new Map<string, Asked[]>()
  const server = createServer({ cert: certificate, key }, async (request, response) => {
    const text = await textOf(request)
    if (text === undefined) return
    const path = (request.url ?? '').split('?')[0] ?? ''
    const { apiVersion, request: review } = JSON.parse(text) as { apiVersion: string; request: V1AdmissionRequest }
    const question = { ...review, uid: review.uid ?? '', apiVersion, headers: request.headers }
    asked.set(path, [...(asked.get(path) ?? []), question])
    const answer = await answers.get(path)?.(question)
    if (answer === undefined) return
    if (answer instanceof ReadableStream) {
      for await (const piece of answer) if (response.destroyed || (!response.write(piece) && (await drained(response)))) return
    } else if (typeof answer === 'string') response.end(answer)
    else response.end(JSON.stringify({ kind: 'AdmissionReview', apiVersion, response: { uid: question.uid, ...answer } }))
  })
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  const { port } = server.address() as AddressInfo
  return {
    caBundle: Buffer.from(authority.pem).toString('base64'),
    port,
    address,
    url: (path) => `https://127.0.0.1:${port}${path}`,
    on: (path, answer) => void answers.set(path, answer),
    asked: (path) => asked.get(path) ?? [],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Undefined where the other side has given up before all of it was sent. */
export async function textOf(request: IncomingMessage): Promise<string | undefined> {
  let text = ''
  try {
    for await (const piece of request) text += String(piece)
  } catch {
    return undefined
  }
  return text
}

/** Whether the other side is gone. */
function drained(response: NodeJS.WritableStream): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (isGone: boolean) => {
      response.off('drain', goOn)
      response.off('close', end)
      resolve(isGone)
    }
    const goOn = () => settle(false)
    const end = () => settle(true)
    response.on('drain', goOn)
    response.on('close', end)
  })
}
