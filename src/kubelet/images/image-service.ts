import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { GrpcError } from '#base/grpc.ts'
import type { CriConnection } from '#kubelet/runtimes/cri/cri-client.ts'
import type { AuthConfig, CriImage } from '#wire/cri/cri-types.ts'

/** The images a runtime has, and may get. */
export type ImageService = {
  /** Undefined where it is not on the node. */
  find(image: string): Promise<CriImage | undefined>
  /** Resolves with what the runtime calls it. */
  pull(image: string, auth: AuthConfig | undefined): Promise<string>
}

/** Images may be large and lines thin. */
const pullTimeoutMs = 24 * 3_600_000

export function criImages(client: CriConnection): ImageService {
  return {
    find: async (image) => (await client.call('imageStatus', { image: { image } })).image,
    async pull(image, auth) {
      const request = { image: { image }, ...defined({ auth }) }
      return (await client.call('pullImage', request, { timeoutMs: pullTimeoutMs })).imageRef
    },
  }
}

const codeNames: Record<number, string> = {
  1: 'Canceled',
  3: 'InvalidArgument',
  4: 'DeadlineExceeded',
  5: 'NotFound',
  6: 'AlreadyExists',
  7: 'PermissionDenied',
  8: 'ResourceExhausted',
  9: 'FailedPrecondition',
  10: 'Aborted',
  11: 'OutOfRange',
  12: 'Unimplemented',
  13: 'Internal',
  14: 'Unavailable',
  15: 'DataLoss',
  16: 'Unauthenticated',
}

/** As clients of upstream's agent know it: with the code, where that says anything. */
export function errorText(error: unknown): string {
  const message = errorMessage(error)
  const name = error instanceof GrpcError ? codeNames[error.code] : undefined
  return name === undefined ? message : `rpc error: code = ${name} desc = ${message}`
}
