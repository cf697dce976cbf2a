import { readYaml } from '#api/codec/yaml.ts'
import { defined } from '#base/defined.ts'
import { lengthOfTimeMs } from '#base/duration.ts'
import type { Files } from '#base/files.ts'
import { grpcChannel } from '#base/grpc.ts'
import { ExternalGrpcProvider } from '#cluster-autoscaler/provider/external-grpc/external-grpc-provider.ts'

type Configuration = { address?: string; key?: string; cert?: string; cacert?: string; grpc_timeout?: string }

/** By upstream's file of `--cloud-config`: the address, and for TLS the paths of key, certificate and authority. Without these it is plain. */
export async function openExternalGrpc(path: string, files: Files): Promise<ExternalGrpcProvider> {
  const value = readYaml(Buffer.from(await files.readText(path))).value
  const { address, key, cert, cacert, grpc_timeout: timeout } = (value ?? {}) as Configuration
  if (!address) throw new Error(`${path} has no address of a provider, such as "address: localhost:8086"`)
  const timeoutMs = timeout === undefined ? undefined : lengthOfTimeMs(timeout)
  if (timeout !== undefined && timeoutMs === undefined)
    throw new Error(`${path}: grpc_timeout: ${timeout} is not a length of time such as 5s`)
  const text = (file: string | undefined) => (file ? files.readText(file) : undefined)
  const [keyPem, certificate, authority] = await Promise.all([text(key), text(cert), text(cacert)])
  const tls = authority === undefined && certificate === undefined ? undefined : defined({ key: keyPem, certificate, authority })
  const channel = await grpcChannel(address, defined({ tls }))
  return new ExternalGrpcProvider(channel, timeoutMs)
}
