/** Asks a server how it is, by grpc.health.v1. */
import { GrpcError, grpcChannel, grpcCodes } from '#base/grpc.ts'

export type HealthQuestion = { host: string; port: number; service: string; timeoutMs: number }

/** Resolves with what is wrong; undefined when all is well. */
export type HealthCheck = (question: HealthQuestion) => Promise<string | undefined>

/** Go's usual limit, and upstream's. An answer has two bytes. */
const mostAnswerBytes = 4 << 20

const statuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN']

export const grpcHealthCheck: HealthCheck = async ({ host, port, service, timeoutMs }) => {
  const target = `${host.includes(':') ? `[${host}]` : host}:${port}`
  using channel = await grpcChannel(target, { mostBytes: mostAnswerBytes })
  try {
    const answer = await channel.unary('/grpc.health.v1.Health/Check', requestFor(service), { timeoutMs })
    const status = statusIn(answer)
    return status === 1 ? undefined : `service unhealthy (responded with "${statuses[status] ?? status}")`
  } catch (error) {
    return problemText(error, target, timeoutMs)
  }
}

function problemText(error: unknown, target: string, timeoutMs: number): string {
  const seconds = `${timeoutMs / 1000}s`
  if (!(error instanceof GrpcError)) return `error: health rpc probe failed: ${String(error)}`
  switch (error.code) {
    case grpcCodes.unimplemented:
      return `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${error.message}`
    case grpcCodes.deadlineExceeded:
      return `timeout: health rpc did not complete within ${seconds}`
    case grpcCodes.unavailable:
      return `timeout: failed to connect service "${target}" within ${seconds}: context deadline exceeded`
    default:
      return `error: health rpc probe failed: rpc error: code = ${codeName(error.code)} desc = ${error.message}`
  }
}

function codeName(code: number): string {
  const name = Object.entries(grpcCodes).find(([, value]) => value === code)?.[0] ?? `Code(${code})`
  return name.charAt(0).toUpperCase() + name.slice(1)
}

/** `service` is field 1. */
function requestFor(service: string): Uint8Array {
  const bytes = Buffer.from(service, 'utf8')
  if (bytes.length === 0) return new Uint8Array()
  const length: number[] = []
  for (let rest = bytes.length; ; rest >>>= 7) {
    if (rest < 0x80) {
      length.push(rest)
      break
    }
    length.push((rest & 0x7f) | 0x80)
  }
  return Buffer.concat([Buffer.from([0x0a, ...length]), bytes])
}

/** `status` is field 1, absent when it is 0. */
const statusIn = (answer: Uint8Array): number => (answer[0] === 0x08 ? (answer[1] ?? 0) : 0)
