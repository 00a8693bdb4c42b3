package proctest

func playsAgent() bool { return false }
