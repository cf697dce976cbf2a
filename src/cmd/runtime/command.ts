/** `typernetes runtime`: the embedded container runtime alone, at a CRI socket. */

import { addOptions, type Command, defineOptions, optionValues, text } from '#base/options.ts'
import { logOptions } from '#cmd/log-options.ts'

export const runtimeOptions = defineOptions({
  root: text('keep images and containers in this directory', { placeholder: 'DIR', default: '/var/lib/typernetes-runtime' }),
  listen: text('serve CRI at this socket', { placeholder: 'PATH', default: '/run/typernetes/runtime.sock' }),
  cniConfDir: text('where configurations of the pod network lie', { placeholder: 'DIR', default: '/etc/cni/net.d' }),
  cniBinDir: text('where network plugins lie; bridge, host-local, portmap, bandwidth, loopback and others need no program', {
    placeholder: 'DIR',
    default: '/opt/cni/bin',
  }),
  ociRuntime: text('let this program (runc, crun) make the containers of the embedded runtime, those that it can', {
    placeholder: 'PROGRAM',
    default: '',
    defaultText: 'none is needed',
  }),
  ...logOptions,
})

export function runtimeCommand(command: Command): void {
  addOptions(command, runtimeOptions)
  command.action(async () => {
    const { runRuntime } = await import('#cmd/runtime/runtime.ts')
    await runRuntime(optionValues(command, runtimeOptions))
  })
}
