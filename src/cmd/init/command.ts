/** `typernetes init`: a cluster that other machines can join. */
import { thisMachine } from '#base/machine.ts'
import { addOptions, type Command, defineOptions, duration, onOff, optionValues, text } from '#base/options.ts'
import { upOptions } from '#cmd/up/options.ts'

export const initOptions = defineOptions({
  ...upOptions,
  listen: {
    ...upOptions.listen,
    help: 'serve on this address of the machine, by which other machines reach it',
    default: '',
    defaultText: "the machine's first address",
  },
  token: text('the bootstrap token that others join with (abcdef.0123456789abcdef)', {
    placeholder: 'TOKEN',
    isCommon: true,
    default: '',
    defaultText: 'one made by chance',
  }),
  tokenTtl: duration('how long it is good for (0: for ever)', { isCommon: true, default: 24 * 3_600_000, defaultText: '24h' }),
  uploadCerts: onOff('offer the keys of the cluster, encrypted, to further control planes for two hours', {
    isCommon: true,
    default: false,
  }),
  certificateKey: text('what they are encrypted with (64 hexadecimal digits)', {
    placeholder: 'KEY',
    default: '',
    defaultText: 'one made by chance',
  }),
  controlPlaneAs: text('run the control plane in this process, or as static pods of a kubelet (on etcd, which may be one of them)', {
    ...{ placeholder: 'HOW', default: 'process', choices: ['process', 'static-pods'] },
  }),
  manifestsDir: text('where static pods of the control plane are written', {
    placeholder: 'DIR',
    default: '',
    defaultText: 'DATA-DIR/manifests',
  }),
  controlPlaneImage: text('the image of those static pods: host is this program itself, on the embedded runtime', {
    placeholder: 'IMAGE',
    default: 'host',
  }),
  etcdImage: text('the image of etcd as a static pod: host is the etcd of this machine, on the embedded runtime', {
    placeholder: 'IMAGE',
    default: 'host',
  }),
})

export function initCommand(command: Command): void {
  command.argument('[words...]', 'phase NAME…: do these steps alone (phase list names them)')
  addOptions(command, initOptions)
  command.action(async (words: string[]) => {
    const { token, tokenTtl, uploadCerts, certificateKey, controlPlaneAs, manifestsDir, controlPlaneImage, etcdImage, ...given } =
      optionValues(command, initOptions)
    const listen = given.listen || thisMachine().addresses()[0]
    if (listen === undefined) throw new Error('this machine has no address by which others could reach it; give one with --listen')
    const options = {
      ...given,
      listen,
      token: '',
      // Whoever joins as a control plane is handed the key, so etcd may be shared.
      encryptSecrets: given.encryptSecrets === 'auto' ? 'new' : given.encryptSecrets,
      // Nodes are reached by the address that this machine is reached by.
      iface: given.iface.length > 0 ? given.iface : [listen],
      controllers: given.controllers.includes('*') ? [...given.controllers, 'bootstrapsigner', 'tokencleaner'] : given.controllers,
    }
    const joining = { token, tokenTtl, uploadCerts, certificateKey, manifestsDir, controlPlaneImage, etcdImage }
    if (words[0] === 'phase') return (await import('#cmd/init/phases.ts')).runInitPhases(words.slice(1), options, joining)
    if (words.length > 0) throw new Error(`init: ${words[0]} is not known; it takes flags, or phase NAME…`)
    if (controlPlaneAs === 'static-pods') {
      if (options.detach)
        throw new Error('--detach: with static pods the kubelet stays in the foreground; let systemd look after it (typernetes systemd)')
      return (await import('#cmd/init/init-static-pods.ts')).initAsStaticPods(options, joining)
    }
    if (options.detach) return (await import('#cmd/up/detached.ts')).startDetached(options)
    const { prepareJoining } = await import('#cmd/init/init.ts')
    await (await import('#cmd/up/up.ts')).up(options, (cluster) => prepareJoining(cluster, joining))
  })
}
