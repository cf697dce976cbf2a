/** What a container may do, in Docker's words. */
import type { Files } from '#base/files.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import { type ContainerSecurityContext, profileTypes, type SandboxSecurityContext, type SecurityProfile } from '#wire/cri/cri-types.ts'

type Secured = Pick<ContainerSecurityContext, 'seccomp' | 'apparmor' | 'selinuxOptions' | 'noNewPrivs' | 'privileged'>

/** Rejects where a profile that is named cannot be read. */
export async function securityOptions(
  context: Secured | SandboxSecurityContext,
  files: Pick<Files, 'readTextIfPresent'>,
): Promise<string[]> {
  const { seccomp, apparmor, selinuxOptions = {} } = context
  const labels = (['user', 'role', 'type', 'level'] as const).flatMap((part) =>
    selinuxOptions[part] ? [`label=${part}:${selinuxOptions[part]}`] : [],
  )
  // Docker itself gives no profile to those that are privileged.
  const seccompOption = context.privileged ? [] : await seccompOptions(seccomp, files)
  return [
    ...seccompOption,
    ...appArmorOptions(apparmor),
    ...labels,
    ...('noNewPrivs' in context && context.noNewPrivs ? ['no-new-privileges'] : []),
  ]
}

async function seccompOptions(profile: SecurityProfile | undefined, files: Pick<Files, 'readTextIfPresent'>): Promise<string[]> {
  const { profileType = profileTypes.RuntimeDefault, localhostRef = '' } = profile ?? {}
  if (profileType === profileTypes.RuntimeDefault) return []
  if (profileType === profileTypes.Unconfined) return ['seccomp=unconfined']
  const text = await files.readTextIfPresent(localhostRef)
  if (text === undefined) throw new GrpcError(grpcCodes.unknown, `cannot load seccomp profile "${localhostRef}": no such file or directory`)
  // The profile itself, not its name: Docker may run where it cannot read the file.
  return [`seccomp=${JSON.stringify(JSON.parse(text))}`]
}

function appArmorOptions(profile: SecurityProfile | undefined): string[] {
  if (profile === undefined || profile.profileType === profileTypes.RuntimeDefault) return []
  return [`apparmor=${profile.profileType === profileTypes.Unconfined ? 'unconfined' : (profile.localhostRef ?? '')}`]
}
