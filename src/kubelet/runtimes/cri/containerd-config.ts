export type ContainerdSettings = {
  root: string
  state: string
  socket: string
  sandboxImage: string
  cni: { binDirectory: string; configDirectory: string }
  /** Processes may not be made safer from the kernel's killing than this one is. */
  mayNotLowerOomScores: boolean
}

/** containerd's configuration, of a form that 1.6 and all later ones read. Registries are set up where its users are used to. */
export function containerdConfig({ root, state, socket, sandboxImage, cni, mayNotLowerOomScores }: ContainerdSettings): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"'
  return `version = 2
root = ${quoted(root)}
state = ${quoted(state)}

[grpc]
  address = ${quoted(socket)}

[${cri}]
  sandbox_image = ${quoted(sandboxImage)}
  restrict_oom_score_adj = ${mayNotLowerOomScores}
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"

[${cri}.cni]
  bin_dir = ${quoted(cni.binDirectory)}
  conf_dir = ${quoted(cni.configDirectory)}

[${cri}.registry]
  config_path = "/etc/containerd/certs.d"

[${cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
`
}

const quoted = (text: string): string => JSON.stringify(text)
