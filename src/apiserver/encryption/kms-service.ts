import {
  type DecryptRequest,
  decodeDecryptResponse,
  decodeEncryptResponse,
  decodeStatusResponse,
  type EncryptResponse,
  encodeDecryptRequest,
  encodeEncryptRequest,
  type StatusResponse,
} from '#apiserver/encryption/kms-messages.ts'
import type { GrpcChannel } from '#base/grpc.ts'

/** A program that keeps the key of all keys. Each call rejects after the service's time limit. */
export type KmsService = Disposable & {
  status(): Promise<StatusResponse>
  encrypt(uid: string, plaintext: Uint8Array): Promise<EncryptResponse>
  decrypt(request: DecryptRequest): Promise<Uint8Array>
}

/** KMS v2. */
export function grpcKmsService(channel: GrpcChannel, timeoutMs: number): KmsService {
  const call = async <T>(method: string, request: Uint8Array, decode: (bytes: Uint8Array) => T): Promise<T> =>
    decode(await channel.unary(`/v2.KeyManagementService/${method}`, request, { timeoutMs }))
  return {
    status: () => call('Status', new Uint8Array(), decodeStatusResponse),
    encrypt: (uid, plaintext) => call('Encrypt', encodeEncryptRequest({ plaintext, uid }), decodeEncryptResponse),
    decrypt: (request) => call('Decrypt', encodeDecryptRequest(request), decodeDecryptResponse),
    [Symbol.dispose]: () => channel[Symbol.dispose](),
  }
}
