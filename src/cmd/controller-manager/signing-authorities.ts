import { createPrivateKey, X509Certificate } from 'node:crypto'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import type { ControllerManagerFlags } from '#cmd/controller-manager/flags.ts'
import type { SigningAuthority } from '#controllers/certificates/signing-authority.ts'
import type { ControllerSettings } from '#controllers/runtime/settings.ts'

type Pair = { certFile: string; keyFile: string }

/** Of each signer the files that the flags name: one pair for all of them, or pairs for some, which are then the only ones. */
export async function signingAuthoritiesOf(flags: ControllerManagerFlags, files: Files): Promise<ControllerSettings['signingAuthorities']> {
  const common = { certFile: flags.clusterSigningCertFile, keyFile: flags.clusterSigningKeyFile }
  const own: Record<string, Pair> = {
    'kubernetes.io/kubelet-serving': {
      certFile: flags.clusterSigningKubeletServingCertFile,
      keyFile: flags.clusterSigningKubeletServingKeyFile,
    },
    'kubernetes.io/kube-apiserver-client-kubelet': {
      certFile: flags.clusterSigningKubeletClientCertFile,
      keyFile: flags.clusterSigningKubeletClientKeyFile,
    },
    'kubernetes.io/kube-apiserver-client': {
      certFile: flags.clusterSigningKubeApiserverClientCertFile,
      keyFile: flags.clusterSigningKubeApiserverClientKeyFile,
    },
    'kubernetes.io/legacy-unknown': {
      certFile: flags.clusterSigningLegacyUnknownCertFile,
      keyFile: flags.clusterSigningLegacyUnknownKeyFile,
    },
  }
  const isNamed = ({ certFile, keyFile }: Pair) => certFile !== '' || keyFile !== ''
  const hasOwn = Object.values(own).some(isNamed)
  const hasCommon = common.certFile !== '' && common.keyFile !== ''
  if (hasOwn && hasCommon) throw new Error('cannot specify default and per controller certs at the same time')
  const pairs = Object.entries(own).map(([signer, pair]) => [signer, hasOwn ? pair : common] as const)
  const named = pairs.filter(([, pair]) => (hasOwn ? isNamed(pair) : hasCommon))
  // A pair that cannot be used is told at once; later on whoever replaces the files may be half way.
  for (const [, pair] of named) await readAuthority(pair, files)
  return Object.fromEntries(named.map(([signer, pair]) => [signer, () => readAuthority(pair, files)]))
}

async function readAuthority({ certFile, keyFile }: Pair, files: Files): Promise<SigningAuthority> {
  const [certificatePem, keyPem] = await Promise.all([files.readText(certFile), files.readText(keyFile)])
  try {
    const privateKey = createPrivateKey(keyPem)
    if (!new X509Certificate(certificatePem).checkPrivateKey(privateKey)) throw new Error('the private key does not match the certificate')
    return { certificatePem, privateKey }
  } catch (error) {
    throw new Error(`error reading CA cert file "${certFile}" and key file "${keyFile}": ${errorMessage(error)}`)
  }
}
